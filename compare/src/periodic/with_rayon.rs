use std::sync::mpsc::{RecvTimeoutError, channel};

pub fn run() {
    let (cancel, cancelled) = channel::<()>();
    let timer = std::thread::spawn(move || {
        while cancelled.recv_timeout(super::PERIOD) == Err(RecvTimeoutError::Timeout) {
            rayon::scope(|scope| scope.spawn(|_| super::tick()));
        }
    });
    super::wait();
    drop(cancel);
    timer.join().unwrap();
}
