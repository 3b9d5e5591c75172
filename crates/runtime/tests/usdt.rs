//! Probes as tools find them: notes in the program, which is this test.

use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::{Endianness, elf};

/// Provider, name and arguments of each probe.
fn probes(program: &[u8]) -> Vec<(String, String, String)> {
    let file = ElfFile64::<Endianness>::parse(program).expect("an ELF file");
    let header = file.elf_header();
    let endian = header.endian().unwrap();
    let sections = header.sections(endian, program).unwrap();
    let mut found = Vec::new();
    for section in sections.iter() {
        let Some(mut notes) = section.notes(endian, program).unwrap_or_default() else {
            continue;
        };
        assert_eq!(section.sh_type(endian), elf::SHT_NOTE);
        while let Some(note) = notes.next().unwrap() {
            if note.name() != b"stapsdt" || note.n_type(endian) != elf::NoteType(3) {
                continue;
            }
            // Behind three addresses: that of the probe, of the base and of the semaphore.
            let texts = note.desc()[24..].split(|byte| *byte == 0);
            let mut texts = texts.map(|text| String::from_utf8(text.to_vec()).unwrap());
            let mut next = || texts.next().unwrap();
            found.push((next(), next(), next()));
        }
    }
    found
}

#[test]
fn the_kernels_four_tracepoints_are_in_the_program() {
    // So that the linker keeps them.
    cmwq::spawn(|| ()).join().unwrap();
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let found = probes(&program);
    for name in [
        "workqueue_queue_work",
        "workqueue_activate_work",
        "workqueue_execute_start",
        "workqueue_execute_end",
    ] {
        let probe = found
            .iter()
            .find(|probe| probe.0 == "cmwq" && probe.1 == name);
        let (_, _, arguments) = probe.unwrap_or_else(|| panic!("{name} in {found:?}"));
        assert_eq!(
            arguments.split_whitespace().count(),
            4,
            "{name}: {arguments}"
        );
    }
}
