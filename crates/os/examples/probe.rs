//! Prints what this system allows: `cargo run -p cmwq-os --example probe`.

fn main() {
    println!("{:#?}", cmwq_os::probe::probe());
    println!("{:#?}", cmwq_os::limits::read());
    println!("{:#?}", cmwq_os::cpus::effective());
    println!("{:#?}", cmwq_os::topology::read(std::path::Path::new("/")));
}
