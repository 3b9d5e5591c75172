use tokio::runtime::Builder;
use tokio::task::spawn_blocking;
use tokio::time::interval;

pub fn run() {
    let runtime = Builder::new_multi_thread().enable_time().build().unwrap();
    let ticks = runtime.spawn(async {
        let mut interval = interval(super::PERIOD);
        loop {
            interval.tick().await;
            spawn_blocking(super::tick).await.unwrap();
        }
    });
    super::wait();
    ticks.abort();
    let _ = runtime.block_on(ticks);
    // A call that had begun goes on: dropping the runtime waits for it.
    drop(runtime);
}
