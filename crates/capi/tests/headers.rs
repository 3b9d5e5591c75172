//! The kernel's headers that come with the library, beside those of the C library.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use common::{CC, here, scratch};

/// Those that have a name in common with the kernel's, and some that every program has. Not
/// `fcntl.h`, `poll.h` and `sys/io.h`: `linux/fcntl.h`, `linux/poll.h` and `linux/io.h` define the
/// same structs and functions.
const OF_LIBC: [&str; 18] = [
    "arpa/inet.h",
    "ctype.h",
    "errno.h",
    "math.h",
    "netdb.h",
    "netinet/in.h",
    "pthread.h",
    "signal.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "strings.h",
    "sys/epoll.h",
    "sys/socket.h",
    "sys/stat.h",
    "sys/un.h",
    "time.h",
    "unistd.h",
];

/// Names that only the C library's headers define, where no kernel's header is there.
const ALONE: &str = "
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#ifndef EPOLLIN
#error it is a macro everywhere
#endif
int used(int c)
{
        return isdigit(c) + abs(c) + htons(c) + (EPOLLIN | EPOLLOUT | EPOLLHUP);
}
";

/// Lines that include each of these.
fn include<'a>(headers: impl IntoIterator<Item = &'a str>) -> String {
    let line = |header| format!("#include <{header}>\n");
    headers.into_iter().map(line).collect()
}

/// The names of the headers in a folder of the shims, as programs write them.
fn in_folder(folder: &str) -> Vec<String> {
    let path = here().join("include/cmwq/shims").join(folder);
    let files = fs::read_dir(path).expect("the folder is there");
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(".h"))
        .map(|name| format!("{folder}/{name}"))
        .collect();
    names.sort();
    names
}

fn compile(name: &str, text: &str) -> Output {
    let file = scratch().join(format!("{name}.c"));
    fs::write(&file, text).unwrap();
    let mut compiler = Command::new(CC);
    compiler.args(["-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only"]);
    for folder in ["include", "include/cmwq", "include/cmwq/shims"] {
        compiler.arg("-I").arg(here().join(Path::new(folder)));
    }
    compiler.arg(file).output().expect("there is a compiler")
}

#[track_caller]
fn assert_compiles(name: &str, text: &str) {
    let done = compile(name, text);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {errors}");
}

#[test]
fn those_of_the_c_library_may_come_before_and_after() {
    let mut kernel = in_folder("linux");
    kernel.push("linux/workqueue.h".into());
    let kernel = include(kernel.iter().map(String::as_str));
    for header in OF_LIBC {
        let name = header.replace(['/', '.'], "_");
        let libc = include([header]);
        assert_compiles(&format!("{name}_after"), &format!("{kernel}{libc}"));
        assert_compiles(&format!("{name}_before"), &format!("{libc}{kernel}"));
    }
}

#[test]
fn those_of_the_c_library_are_as_ever_alone() {
    assert_compiles("alone", ALONE);
}

#[test]
fn names_mean_what_the_kernels_headers_say_after_both() {
    let text = include([
        "linux/math.h",
        "linux/bitops.h",
        "linux/timer.h",
        "stdlib.h",
        "string.h",
    ]);
    // The C library's take an int, and a timer_t.
    let text = text
        + "long of_long(long x)
           {
                   _Static_assert(__builtin_types_compatible_p(__typeof__(abs(x)), long), \"\");
                   return abs(x);
           }
           #ifndef timer_delete
           #error it is a macro in the kernel
           #endif
           #ifndef ffs
           #error as above
           #endif\n";
    assert_compiles("names", &text);
}
