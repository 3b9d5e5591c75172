//! Pictures of the screen for the README, of a real run: `cargo xtask pictures` writes them.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cmwq::Workqueue;
use cmwq_stats::control::Request;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::super::draw;
use super::super::look::{Look, look};
use super::super::state::State;
use crate::live::target::Target;

const WIDTH: u16 = 84;
const HEIGHT: u16 = 15;
/// Pixels of a cell.
const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 10.0;
/// A window of its own, so that the page around it may be light or dark.
const BACK: &str = "#1e2127";
const FRONT: &str = "#d7dae0";

fn fill(cell: &Cell) -> (&'static str, Option<&'static str>) {
    let front = match cell.fg {
        Color::Cyan => "#56c8d8",
        Color::Yellow => "#e5c07b",
        Color::DarkGray => "#8f96a3",
        _ => FRONT,
    };
    match cell.modifier.contains(Modifier::REVERSED) {
        true => (BACK, Some(front)),
        false => (front, None),
    }
}

/// As a picture. Cells that look alike and lie side by side are one text.
fn svg(buffer: &Buffer) -> String {
    let Rect { width, height, .. } = buffer.area;
    let size = |cells: u16, pixels: f32| f32::from(cells) * pixels + 2.0 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0}\" height=\"{1:.0}\" \
         viewBox=\"0 0 {0:.0} {1:.0}\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" \
         font-size=\"14\" role=\"img\" aria-label=\"cmwq top\">\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{BACK}\"/>\n",
        size(width, CELL.0),
        size(height, CELL.1)
    );
    for (y, line) in (0_u16..).zip(buffer.content.chunks(width.into())) {
        let mut x = 0;
        for part in line.chunk_by(|one, other| one.style() == other.style()) {
            text(&mut out, part, (x, y));
            x += part.len() as u16;
        }
    }
    out + "</svg>\n"
}

fn text(out: &mut String, part: &[Cell], (x, y): (u16, u16)) {
    let (fill, behind) = fill(&part[0]);
    let words: String = part.iter().map(Cell::symbol).collect();
    let (left, top) = (
        f32::from(x) * CELL.0 + MARGIN,
        f32::from(y) * CELL.1 + MARGIN,
    );
    let long = |cells: usize| cells as f32 * CELL.0;
    if let Some(colour) = behind {
        let width = long(part.len());
        let _ = writeln!(
            out,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            CELL.1
        );
    }
    let shown = words.trim_end();
    if shown.is_empty() {
        return;
    }
    let weight = match part[0].modifier.contains(Modifier::BOLD) {
        true => " font-weight=\"bold\"",
        false => "",
    };
    let line = match part[0].modifier.contains(Modifier::UNDERLINED) {
        true => " text-decoration=\"underline\"",
        false => "",
    };
    let escaped = shown
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<text x=\"{left:.1}\" y=\"{:.1}\" textLength=\"{:.1}\" xml:space=\"preserve\" \
         fill=\"{fill}\"{weight}{line}>{escaped}</text>",
        top + 13.0,
        long(shown.chars().count())
    );
}

/// Items of a program that resizes pictures and sends mail.
mod gallery {
    use std::sync::mpsc::Receiver;
    use std::sync::{Arc, Mutex};

    pub(super) type Go = Arc<Mutex<Receiver<()>>>;

    /// Waits until it is let go, and then as for a disk.
    pub(super) fn resize(go: Go) -> impl FnOnce() + Send {
        move || {
            if go.lock().unwrap().recv().is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(30));
            }
        }
    }

    pub(super) fn send_mail() -> impl FnOnce() + Send {
        || std::thread::sleep(std::time::Duration::from_micros(200))
    }
}

/// A queue whose limit is too low, beside one that is well, in this process.
#[test]
fn a_starved_queue_is_drawn() {
    let starved = Workqueue::builder("thumbnails")
        .max_active(1)
        .sysfs()
        .build();
    let (starved, well) = (
        starved.unwrap(),
        Workqueue::builder("mail").build().unwrap(),
    );
    let (end, go) = std::sync::mpsc::channel();
    let go = Arc::new(Mutex::new(go));
    let items: Vec<_> = (0..40)
        .map(|_| starved.spawn(gallery::resize(go.clone())))
        .collect();
    let process = Target::of_pid(std::process::id()).find().unwrap();
    let mut state = State::new(
        look(&process, &Request::Look).unwrap(),
        Duration::from_millis(100),
    );
    // Some are done, so that there are times to be shown.
    (0..7).for_each(|_| end.send(()).unwrap());
    let until = Instant::now() + Duration::from_secs(60);
    let is_shown = |look: &Look| {
        let mut queues = look.seen.snapshot.queues.iter();
        let queue = queues.find(|queue| queue.name == "thumbnails").unwrap();
        queue.completed == 7 && queue.executing == 1 && queue.waiting() == 32
    };
    loop {
        for mail in (0..50)
            .map(|_| well.spawn(gallery::send_mail()))
            .collect::<Vec<_>>()
        {
            mail.join().unwrap();
        }
        let mut seen = look(&process, &Request::Look).unwrap();
        let queues = &mut seen.seen.snapshot.queues;
        // Other tests of this process have theirs.
        queues.retain(|queue| ["thumbnails", "mail"].contains(&queue.name.as_str()));
        // Its name and its paths are those of this test.
        seen.seen.command = "gallery".into();
        let pools = seen.seen.snapshot.pools.iter_mut();
        for worker in pools.flat_map(|pool| &mut pool.busy) {
            let name = worker
                .item
                .rsplit_once("picture::")
                .map(|(_, name)| name.to_owned());
            worker.item = name.unwrap_or_default();
        }
        let done = is_shown(&seen);
        state.saw(seen);
        if done {
            break;
        }
        assert!(Instant::now() < until, "never: seven done, one executed");
        std::thread::sleep(Duration::from_millis(100));
    }
    let area = Rect::new(0, 0, WIDTH, HEIGHT);
    let mut buffer = Buffer::empty(area);
    draw::all(&mut buffer, area, &state, true);
    let picture = svg(&buffer);
    for said in [
        "thumbnails",
        "32 wait: all slots of max_active",
        "gallery::resize",
    ] {
        assert!(picture.contains(said), "{said}: {picture}");
    }
    assert_eq!(
        picture.matches("<text").count(),
        picture.matches("</text>").count()
    );
    drop(end);
    items.into_iter().for_each(|item| item.join().unwrap());
    if let Some(folder) = std::env::var_os("CMWQ_WRITE_PICTURES") {
        let file = std::path::Path::new(&folder).join("top.svg");
        std::fs::write(file, picture).unwrap();
    }
}
