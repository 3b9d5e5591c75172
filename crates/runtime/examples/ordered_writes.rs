//! Many threads log into one file. Each line is written by an item of an ordered queue: one at a
//! time, in the order of queueing, and nobody who logs waits for the disk. Flushed each 100 ms, by
//! an item that queues itself again.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use cmwq::{Work, Workqueue};

/// Clones write to the same file.
#[derive(Clone)]
struct Log {
    // Only items of the queue lock it, so nobody ever waits for it.
    file: Arc<Mutex<BufWriter<File>>>,
    queue: Workqueue,
}

impl Log {
    fn new(path: &Path) -> Result<Log, Box<dyn Error>> {
        let file = Arc::new(Mutex::new(BufWriter::new(File::create(path)?)));
        let queue = Workqueue::builder("log").ordered().build()?;
        Ok(Log { file, queue })
    }

    fn write(&self, line: String) {
        let file = self.file.clone();
        let writes = move || writeln!(file.lock().expect("no item panics"), "{line}");
        self.queue.spawn(writes).detach();
    }

    /// The item that flushes the file, again and again, until it is cancelled.
    fn flusher(&self) -> Work<Log> {
        Work::with_data(self.clone(), |flusher| {
            let log = flusher.data();
            let _ = log.file.lock().expect("no item panics").flush();
            // Refused when it is cancelled.
            let _ = log.queue.queue_after(flusher, Duration::from_millis(100));
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("ordered-{}.log", std::process::id()));
    let log = Log::new(&path)?;
    let flusher = log.flusher();
    log.queue
        .queue_after(&flusher, Duration::from_millis(100))?;
    thread::scope(|threads| {
        for name in 0..4 {
            let log = log.clone();
            threads.spawn(move || (0..1000).for_each(|n| log.write(format!("{name} {n}"))));
        }
    });
    log.queue.flush()?; // all lines are written
    log.queue.modify(&flusher, Duration::ZERO)?;
    flusher.flush()?;
    flusher.cancel_sync()?;
    let text = std::fs::read_to_string(&path)?;
    for name in 0..4 {
        let of = |line: &str| line.strip_prefix(&format!("{name} "))?.parse::<u32>().ok();
        assert!(
            text.lines().filter_map(of).eq(0..1000),
            "in order, and all are there"
        );
    }
    println!("{} lines in {}", text.lines().count(), path.display());
    Ok(std::fs::remove_file(path)?)
}

#[test]
fn it_works() {
    main().unwrap();
}
