//! The clocks: one for points in time, two for CPU time spent.

use cmwq_policy::time::SECOND;
use cmwq_policy::{Nanos, Time};

/// `CLOCK_MONOTONIC`. Does not count while the machine is suspended.
///
/// # Panics
/// Where the system has no such clock: none that a process sees without a system call, and the call
/// is denied.
pub fn now() -> Time {
    let (status, time) = read(libc::CLOCK_MONOTONIC);
    assert_eq!(
        status,
        0,
        "no monotonic clock: {}",
        std::io::Error::last_os_error()
    );
    Time(time)
}

/// CPU time the calling thread has used since it started; 0 where the system does not tell (a
/// sandbox).
pub fn thread_cpu() -> Nanos {
    read_cpu(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time all threads of the process have used, those that have ended included; 0 as above.
pub fn process_cpu() -> Nanos {
    read_cpu(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn read_cpu(clock: libc::clockid_t) -> Nanos {
    // miri has no clocks of CPU time. Taken for all the time that passes, it is never too little.
    if cfg!(miri) {
        return now().0;
    }
    let (_, time) = read(clock);
    time
}

/// Status and time, which is 0 if the call failed.
///
/// Not through rustix, which takes for granted that it cannot fail, and makes a system call of the
/// monotonic clock as well while another thread looks for the code that needs none. The C library
/// has that code before there is a second thread.
fn read(clock: libc::clockid_t) -> (libc::c_int, Nanos) {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for the write, and stays zero where the call fails.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    // It is never negative.
    (status, time.tv_sec as u64 * SECOND + time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_time_never_goes_back() {
        let readings: Vec<Time> = (0..1000).map(|_| now()).collect();
        assert!(readings.is_sorted());
        assert!(readings[0] > Time(0));
    }

    #[test]
    fn computing_shows_on_both_cpu_clocks() {
        // The process first: its interval holds the thread's.
        let (process, thread) = (process_cpu(), thread_cpu());
        while thread_cpu() - thread < 2_000_000 {
            std::hint::spin_loop();
        }
        assert!(process_cpu() - process >= 1_000_000);
    }

    #[test]
    fn sleeping_does_not_show_on_the_threads_cpu_clock() {
        let (cpu, wall) = (thread_cpu(), now());
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(thread_cpu() - cpu < now().since(wall));
    }
}
