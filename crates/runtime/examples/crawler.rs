//! Fetches a page and all that it leads to, each once, over at most eight connections. The pages
//! come from a small server in this program: page N links to 2N+1 and 2N+2, and takes 5 ms.

use std::collections::BTreeSet;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const PAGES: usize = 200;

/// Answers one request.
fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = String::new();
    BufReader::new(&stream).read_line(&mut request)?;
    let page = request
        .split(['/', ' '])
        .nth(2)
        .and_then(|page| page.parse().ok());
    let page: usize = page.unwrap_or(PAGES);
    thread::sleep(Duration::from_millis(5));
    let links = [2 * page + 1, 2 * page + 2].map(|page| page % PAGES);
    let body = format!("<a href=\"/{}\"><a href=\"/{}\">", links[0], links[1]);
    write!(
        stream,
        "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The links of a page.
fn fetch(server: SocketAddr, page: usize) -> std::io::Result<Vec<usize>> {
    let mut stream = TcpStream::connect(server)?;
    write!(stream, "GET /{page} HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let links = text.split("href=\"/").skip(1);
    Ok(links
        .filter_map(|link| link.split('"').next()?.parse().ok())
        .collect())
}

fn crawl(server: SocketAddr) -> Result<BTreeSet<usize>, Box<dyn Error>> {
    let queue = cmwq::Workqueue::builder("peers").max_active(8).build()?;
    let mut seen = BTreeSet::from([0]);
    let mut handles = vec![queue.spawn(move || fetch(server, 0))];
    while !handles.is_empty() {
        let finished = cmwq::select(&mut handles)?;
        for page in handles.swap_remove(finished).join()?? {
            if seen.insert(page) {
                handles.push(queue.spawn(move || fetch(server, page)));
            }
        }
    }
    Ok(seen)
}

fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let server = listener.local_addr()?;
    // A connection may wait for its client, and never for a free CPU.
    let answers = cmwq::Workqueue::builder("answers").unmanaged().build()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answers.spawn(move || serve(stream)).detach();
        }
    });
    let pages = crawl(server)?;
    assert_eq!(pages.len(), PAGES);
    println!("{} pages", pages.len());
    Ok(())
}

#[test]
fn it_works() {
    main().unwrap();
}
