//! Serves its metrics while two queues work. Open <http://127.0.0.1:9464/metrics> meanwhile.

use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = cmwq_prometheus::serve("127.0.0.1:9464")?;
    println!("http://{address}/metrics, for a minute");
    let slow = cmwq::Workqueue::builder("slow").max_active(2).build()?;
    let quick = cmwq::Workqueue::builder("quick").build()?;
    for _ in 0..600 {
        slow.spawn(|| std::thread::sleep(Duration::from_millis(250)))
            .detach();
        quick.spawn(|| ()).detach();
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
