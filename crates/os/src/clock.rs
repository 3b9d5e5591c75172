//! The clocks: one for points in time, two for CPU time spent.

use cmwq_policy::time::SECOND;
use cmwq_policy::{Nanos, Time};
use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`. Does not count while the machine is suspended.
pub fn now() -> Time {
    Time(read(ClockId::Monotonic))
}

/// CPU time the calling thread has used since it started.
pub fn thread_cpu() -> Nanos {
    read(ClockId::ThreadCPUTime)
}

/// CPU time all threads of the process have used, those that have ended included.
pub fn process_cpu() -> Nanos {
    read(ClockId::ProcessCPUTime)
}

fn read(clock: ClockId) -> Nanos {
    // miri has no clocks of CPU time. Taken for all the time that passes, it is never too little.
    let clock = if cfg!(miri) {
        ClockId::Monotonic
    } else {
        clock
    };
    let t = clock_gettime(clock);
    // None of these clocks is ever negative.
    t.tv_sec as u64 * SECOND + t.tv_nsec as u64
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
