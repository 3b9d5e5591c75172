use cmwq::DelayedWork;

pub fn run() {
    let queue = cmwq::system();
    let ticks = DelayedWork::with_data((), |ticks| {
        super::tick();
        cmwq::system().queue_after(ticks, super::PERIOD);
    });
    queue.queue_after(&ticks, super::PERIOD);
    super::wait();
    ticks.cancel_sync().unwrap();
}
