//! Generations across fork. One test per process matters here: each child is single-threaded.

use cmwq_os::generation;

/// Runs `body` in a forked child; true if it said so.
fn child_says(body: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs only `body`, which takes no lock of ours, and _exit.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let code = i32::from(!body());
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(code) };
    }
    assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
    let mut status = 0;
    // SAFETY: waits for our child and writes its status.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status == 0
}

#[test]
fn a_forked_child_starts_anew_with_a_number_of_its_own() {
    let mine = generation::claim().unwrap();
    assert_ne!(mine, 0);
    assert_eq!(
        (generation::claim().unwrap(), generation::current()),
        (mine, mine)
    );

    assert!(child_says(|| generation::current() == 0));
    assert_eq!(generation::current(), mine);

    let renewed = || {
        let child = generation::claim().unwrap_or(0);
        let fresh = child != 0 && child != mine && generation::current() == child;
        let grandchild = || {
            let empty = generation::current() == 0;
            let claimed = generation::claim().unwrap_or(0);
            empty && claimed != 0 && claimed != mine && claimed != child
        };
        fresh && child_says(grandchild) && generation::current() == child
    };
    assert!(child_says(renewed));
    assert_eq!(generation::current(), mine);
}

#[test]
fn all_claimers_of_a_process_agree() {
    let numbers: Vec<u32> = std::thread::scope(|scope| {
        let claimers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| generation::claim().unwrap()))
            .collect();
        claimers
            .into_iter()
            .map(|claimer| claimer.join().unwrap())
            .collect()
    });
    assert!(
        numbers
            .iter()
            .all(|&number| number == generation::current() && number != 0)
    );
}

#[test]
fn a_child_knows_that_it_was_forked() {
    assert!(!generation::is_forked());
    assert!(child_says(generation::is_forked));
}
