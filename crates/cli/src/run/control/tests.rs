//! Who waits for what, and for how long.

use super::*;
use cmwq_admission::Relief;
use std::sync::Arc;

#[test]
fn admission_waits_for_room_and_ends_at_a_stop() {
    let control = Arc::new(Control::new().unwrap());
    assert!(control.admit(|| 1));
    let waiting = std::thread::spawn({
        let control = Arc::clone(&control);
        move || (control.admit(|| 1), control.admit(|| 1))
    });
    control.leave();
    while control.lock().outstanding == 0 {
        std::thread::yield_now();
    }
    assert!(control.stop(1));
    assert_eq!(waiting.join().unwrap(), (true, false));
    assert!(!control.stop(2));
    assert_eq!(control.end(), RunEnd::Code(1));
}

#[test]
fn relief_is_an_end_seen_late_too() {
    let control = Control::new().unwrap();
    let mut relief = Relief::default();
    control.lock().ends = 1;
    assert!(control.wait_for_relief(0, &mut relief));
    assert_eq!(relief.pause(), Relief::default().pause(), "no try");
}

#[test]
fn what_others_do_does_not_end_a_pause() {
    let control = Control::new().unwrap();
    let (mut relief, began) = (Relief::default(), Instant::now());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| control.wait_for_relief(0, &mut relief));
        while !waiter.is_finished() {
            control.changed.notify_all();
        }
    });
    let first = Relief::default().pause();
    assert!(began.elapsed() >= Duration::from_nanos(first));
    assert!(relief.pause() > first);
}

#[test]
fn tally_counts_ends_and_failures() {
    let control = Control::new().unwrap();
    assert_eq!(control.ended(JobEnd::Succeeded), 1);
    assert_eq!(control.ended(JobEnd::Killed(9)), 2);
    let tally = control.tally();
    assert_eq!((tally.jobs, tally.failed), (2, 1));
}

#[test]
fn a_job_that_is_being_started_is_waited_for_by_whoever_presses_ctrl_c() {
    let control = Control::new().unwrap();
    assert!(control.start());
    assert_eq!(control.interrupted(), (1, 1));
    control.not_started();
    assert_eq!(control.interrupted(), (2, 0));
    assert!(!control.start());
}
