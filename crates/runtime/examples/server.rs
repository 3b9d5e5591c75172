//! A server of which each request blocks, for a disk, a lock or a database. `server ADDRESS`;
//! without an address it serves eight clients of its own. An item for each connection: as many are
//! at work as keep the CPUs busy, however many of them wait.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Answers each line of a connection, until it ends.
fn serve(stream: TcpStream) -> io::Result<()> {
    let mut answers = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let question = line?;
        thread::sleep(Duration::from_millis(2)); // asks a database
        // One write is one packet.
        answers.write_all((question.to_uppercase() + "\n").as_bytes())?;
    }
    Ok(())
}

/// Serves so many connections, and waits until the last of them has ended.
fn listen(listener: &TcpListener, most: usize) -> Result<(), Box<dyn Error>> {
    // Connections are held for long while they only wait, so they must not wait for each other.
    let connections = cmwq::Workqueue::builder("connections")
        .max_active(1000)
        .build()?;
    for stream in listener.incoming().take(most) {
        let stream = stream?;
        let answers = move || {
            if let Err(error) = serve(stream) {
                eprintln!("a connection broke: {error}");
            }
        };
        connections.spawn(answers).detach();
    }
    match connections.close_timeout(Duration::from_secs(30))? {
        true => Ok(()),
        false => Err("clients stay for too long".into()),
    }
}

fn ask(server: SocketAddr, name: usize) -> io::Result<()> {
    let stream = TcpStream::connect(server)?;
    let (mut questions, mut answers) = (stream.try_clone()?, BufReader::new(stream));
    for n in 0..20 {
        questions.write_all(format!("client {name} asks {n}\n").as_bytes())?;
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        assert_eq!(answer, format!("CLIENT {name} ASKS {n}\n"));
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        Some(address) => listen(&TcpListener::bind(address)?, usize::MAX),
        None => serve_own_clients(),
    }
}

fn serve_own_clients() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let server = listener.local_addr()?;
    thread::scope(|threads| {
        let clients = [0, 1, 2, 3, 4, 5, 6, 7].map(|name| threads.spawn(move || ask(server, name)));
        listen(&listener, clients.len())?;
        for client in clients {
            client.join().expect("it has got its answers")?;
        }
        println!("8 clients have got 20 answers each");
        Ok(())
    })
}

#[test]
fn it_works() {
    serve_own_clients().unwrap();
}
