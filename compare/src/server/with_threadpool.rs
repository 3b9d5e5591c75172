use std::net::TcpListener;
use threadpool::ThreadPool;

pub fn serve_all(listener: TcpListener) {
    let pool = ThreadPool::new(super::CLIENTS);
    for stream in listener.incoming().take(super::CLIENTS) {
        let stream = stream.unwrap();
        pool.execute(move || super::serve(stream));
    }
    pool.join();
}
