//! The end of a job, when the caller waits for the last steps of its helpers.

/// The nice level that a helper is given while the caller waits for it: the caller's own, if that
/// is better. One helper at a time, so that the job never has more than one thread at the caller's
/// priority (kernel: "willing the priority" of ktask).
pub fn willing(caller: i32, helper: i32) -> Option<i32> {
    (caller < helper).then_some(caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_upwards() {
        assert_eq!(willing(0, 19), Some(0));
        assert_eq!(willing(-5, 0), Some(-5));
        assert_eq!(willing(0, 0), None);
        assert_eq!(willing(19, 5), None);
    }
}
