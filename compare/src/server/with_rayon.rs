use std::net::TcpListener;

pub fn serve_all(listener: TcpListener) {
    rayon::scope(|scope| {
        for stream in listener.incoming().take(super::CLIENTS) {
            let stream = stream.unwrap();
            scope.spawn(move |_| super::serve(stream));
        }
    });
}
