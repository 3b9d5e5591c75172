//! The real Prometheus scrapes this very process, and answers the queries of the dashboard.

mod dashboard;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Ends with the test.
struct Server {
    child: Child,
    address: SocketAddr,
    data: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `None` where it is not installed.
fn prometheus(target: SocketAddr) -> Option<Server> {
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: test\n    static_configs:\n      \
         - targets: [\"{target}\"]\n"
    );
    std::fs::write(&config, text).unwrap();
    // Somebody else may take the port in between; then the test says what the server said.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            data.path().join("tsdb").display()
        ))
        .arg(format!("--web.listen-address={address}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(data.path().join("log")).unwrap())
        .spawn()
        .ok()?;
    Some(Server {
        child,
        address,
        data,
    })
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

impl Server {
    /// The answer of its API, `None` while it is not there.
    fn get(&self, path: &str) -> Option<Value> {
        let mut peer = TcpStream::connect(self.address).ok()?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address);
        peer.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        peer.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// The samples that a query gives.
    fn query(&self, query: &str) -> Option<Vec<Value>> {
        let answer = self.get(&format!("/api/v1/query?query={}", encoded(query)))?;
        if answer["status"] == "error" {
            panic!("{query}: {answer}");
        }
        Some(answer["data"]["result"].as_array()?.clone())
    }

    /// The same, asked again until there are some.
    fn eventually(&self, query: &str) -> Vec<Value> {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            match self.query(query) {
                Some(found) if !found.is_empty() => return found,
                _ => assert!(
                    Instant::now() < until,
                    "no answer to {query}; its targets: {:?}; its log: {}",
                    self.get("/api/v1/targets"),
                    std::fs::read_to_string(self.data.path().join("log")).unwrap_or_default()
                ),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

#[test]
fn the_real_server_scrapes_and_answers_the_dashboard() {
    let queue = cmwq::Workqueue::builder("scraped")
        .max_active(2)
        .build()
        .unwrap();
    for item in (0..7).map(|_| queue.spawn(|| ())).collect::<Vec<_>>() {
        item.join().unwrap();
    }
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    let held = |_| {
        let wait = wait.clone();
        queue.spawn(move || wait.lock().unwrap().recv().unwrap_or_default())
    };
    let held: Vec<_> = (0..5).map(held).collect();
    let address = cmwq_prometheus::serve("127.0.0.1:0").unwrap();
    let Some(server) = prometheus(address) else {
        drop(go);
        return println!("skipped: there is no prometheus");
    };
    server.eventually(r#"cmwq_queue_completed_total{queue="scraped",kind="managed"} == 7"#);
    server.eventually(r#"cmwq_queue_wait_seconds_count{queue="scraped"} == 9"#);
    server.eventually(r#"sum by (queue) (cmwq_queue_waits{reason=~".*max_active.*"}) == 3"#);
    // A counter has a rate after the second scrape.
    server.eventually(r#"rate(cmwq_queue_completed_total{queue="scraped"}[1m]) >= 0"#);
    for query in dashboard::queries() {
        let query = dashboard::filled_in(&query);
        let found = server.query(&query).expect("it answers");
        assert!(!found.is_empty(), "nothing for {query}");
    }
    let types = server.get("/api/v1/metadata").expect("it answers");
    assert_eq!(
        types["data"]["cmwq_queue_run_seconds"][0]["type"],
        "histogram"
    );
    drop(go);
    held.into_iter().for_each(|item| item.join().unwrap());
}

/// promtool reads the older text format, in which a counter's type is that of the name with
/// `_total`, and there are no units.
#[test]
fn promtool_has_nothing_to_say() {
    let plain = |line: &str| match line.split_once(' ') {
        Some(("#", rest)) => {
            let mut words = rest.splitn(3, ' ');
            let (sort, name, what) = (words.next()?, words.next()?, words.next()?);
            let total = dashboard::exported().contains(&format!("{name}_total"));
            let total = if total { "_total" } else { "" };
            (sort != "UNIT").then(|| format!("# {sort} {name}{total} {what}\n"))
        }
        _ => Some(format!("{line}\n")),
    };
    cmwq::system().spawn(|| ()).join().unwrap();
    let text = cmwq_prometheus::encode();
    let text: String = text
        .lines()
        .filter(|line| *line != "# EOF")
        .filter_map(plain)
        .collect();
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = promtool else {
        return println!("skipped: there is no promtool");
    };
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let said = promtool.wait_with_output().unwrap();
    assert!(
        said.status.success(),
        "{}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    let exported = dashboard::exported();
    let queries = dashboard::queries();
    assert!(queries.len() >= 10);
    for query in queries.iter().chain(&dashboard::variables()) {
        let names = dashboard::names(query);
        assert!(!names.is_empty(), "{query}");
        for name in names {
            assert!(exported.contains(&name), "{name} in {query}");
        }
    }
}
