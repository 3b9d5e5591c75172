use cmwq::Work;

pub fn run() {
    let queue = cmwq::system();
    let ticks = Work::with_data((), |ticks| {
        super::tick();
        let _ = cmwq::system().queue_after(ticks, super::PERIOD);
    });
    queue.queue_after(&ticks, super::PERIOD).unwrap();
    super::wait();
    ticks.cancel_sync().unwrap();
}
