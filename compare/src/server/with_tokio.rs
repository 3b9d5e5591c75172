use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, spawn_blocking};

async fn serve(stream: TcpStream) {
    let (questions, mut answers) = stream.into_split();
    let mut lines = BufReader::new(questions).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let answer = spawn_blocking(move || super::answer(&line)).await.unwrap();
        answers.write_all(answer.as_bytes()).await.unwrap();
    }
}

pub fn serve_all(listener: std::net::TcpListener) {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        listener.set_nonblocking(true).unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let mut connections = JoinSet::new();
        for _ in 0..super::CLIENTS {
            let (stream, _) = listener.accept().await.unwrap();
            connections.spawn(serve(stream));
        }
        connections.join_all().await;
    });
}
