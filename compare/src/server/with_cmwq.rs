use std::net::TcpListener;

pub fn serve_all(listener: TcpListener) {
    let queue = cmwq::Workqueue::builder("connections").build().unwrap();
    for stream in listener.incoming().take(super::CLIENTS) {
        let stream = stream.unwrap();
        queue.spawn(move || super::serve(stream)).detach();
    }
    queue.close().unwrap();
}
