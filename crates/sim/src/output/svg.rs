//! A picture: a lane for each CPU, time from left to right, a colour for each queue.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cmwq_policy::{Nanos, Time};

use super::{Doing, Observation, Record, Slice, shown_time};

/// Rectangles beyond which lanes are drawn in coarser steps.
const MOST_RECTANGLES: usize = 20_000;

/// Lengths are in hundredths of a pixel, so that all arithmetic is in integers.
const PIXEL: u64 = 100;
const WIDTH: u64 = 1500 * PIXEL;
const LEFT: u64 = 60;
const TOP: u64 = 64;

/// One for each queue, and round again; told apart by colour-blind eyes as well.
const COLOURS: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a900", "#6a3d9a",
];

/// What has a colour of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Queue(u32),
    Worker,
    Program,
    IdleClass,
}

/// A rectangle of a lane.
struct Block {
    from: Time,
    to: Time,
    kind: Kind,
    /// What the pointer shows.
    name: String,
}

impl Observation {
    /// The picture, as SVG. However long the run was, it has a bounded size.
    pub fn svg(&self) -> String {
        let record = self.record();
        let end = record.end.0.max(1);
        let cpus = record.lanes.len();
        let step = lane_step(cpus);
        let height = TOP + cpus as u64 * step + 30;
        let width = WIDTH / PIXEL + LEFT + 20;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        record.legend(&mut svg);
        record.axis(&mut svg, end, height);
        for cpu in 0..cpus {
            record.lane(&mut svg, cpu, step, end);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// The height of a lane with its margin, in pixels: less of many.
fn lane_step(cpus: usize) -> u64 {
    (1600 / cpus.max(1) as u64).clamp(8, 26)
}

fn kind_of(what: Doing) -> Kind {
    match what {
        Doing::Item(queue, ..) => Kind::Queue(queue.0),
        Doing::Worker => Kind::Worker,
        Doing::Program => Kind::Program,
        Doing::IdleClass => Kind::IdleClass,
    }
}

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Queue(queue) => COLOURS[queue as usize % COLOURS.len()],
        Kind::Worker => "#c8c8c8",
        Kind::Program => "#707070",
        Kind::IdleClass => "#ececec",
    }
}

/// Hundredths of a pixel, as SVG writes lengths.
fn length(hundredths: u64) -> String {
    format!("{}.{:02}", hundredths / PIXEL, hundredths % PIXEL)
}

/// Where a time is, from the left end of the lanes.
fn place(time: Time, end: Nanos) -> u64 {
    (u128::from(time.0) * u128::from(WIDTH) / u128::from(end)) as u64
}

/// A block at this height, so high. Its name is in it where there is room.
fn rectangle(svg: &mut String, block: &Block, end: Nanos, (y, high): (u64, u64)) {
    let (from, to) = (place(block.from, end), place(block.to, end));
    // What is there is seen, however short it is.
    let wide = to.saturating_sub(from).max(PIXEL / 5);
    let x = LEFT * PIXEL + from;
    // Neighbours of one colour are told apart, where that does not hide them.
    let edge = match wide > 4 * PIXEL {
        true => " stroke=\"#ffffff\" stroke-width=\"0.5\"",
        false => "",
    };
    let _ = writeln!(
        svg,
        "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{high}\" fill=\"{}\"{edge}><title>{}</title></rect>",
        length(x),
        length(wide),
        colour(block.kind),
        escaped(&block.name)
    );
    let label = block.name.split(' ').next().unwrap_or_default();
    if high >= 12 && wide > (7 * label.chars().count() as u64 + 8) * PIXEL {
        let (x, y) = (length(x + 4 * PIXEL), y + high / 2 + 4);
        let label = escaped(label);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" fill=\"#ffffff\">{label}</text>"
        );
    }
}

/// What may stand in a text of SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

impl Record {
    fn legend(&self, svg: &mut String) {
        let mut kinds: Vec<Kind> = self
            .slices
            .iter()
            .map(|slice| kind_of(slice.what))
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mut x = LEFT;
        for kind in kinds.into_iter().take(24) {
            let name = match kind {
                Kind::Queue(queue) => escaped(&self.queues[queue as usize]),
                Kind::Worker => "workers between items".to_owned(),
                Kind::Program => "threads".to_owned(),
                Kind::IdleClass => "SCHED_IDLE".to_owned(),
            };
            let colour = colour(kind);
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"10\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"20\">{name}</text>",
                x + 16
            );
            x += 32 + 7 * name.chars().count() as u64;
        }
        if let Some(full) = self.full {
            let at = shown_time(full.0);
            let _ = writeln!(
                svg,
                "<text x=\"{LEFT}\" y=\"36\">too much happens: nothing is drawn after {at}</text>"
            );
        }
    }

    fn axis(&self, svg: &mut String, end: Nanos, height: u64) {
        let step = tick_step(end);
        let bottom = height - 30;
        for at in (0..=end / step).map(|n| n * step) {
            let x = length(LEFT * PIXEL + place(Time(at), end));
            let name = shown_time(at);
            let _ = writeln!(
                svg,
                "<line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#dddddd\"/>\
                 <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{name}</text>",
                TOP - 8,
                TOP - 12
            );
        }
    }

    fn lane(&self, svg: &mut String, cpu: usize, step: u64, end: Nanos) {
        let y = TOP + cpu as u64 * step;
        let high = step - 2;
        let _ = write!(
            svg,
            "<g><text x=\"4\" y=\"{}\">CPU {cpu}</text>\n<rect x=\"{LEFT}\" y=\"{y}\" width=\"{}\" \
             height=\"{high}\" fill=\"none\" stroke=\"#e4e4e4\"/>\n",
            y + high - 1,
            WIDTH / PIXEL
        );
        for block in self.blocks(cpu, end) {
            rectangle(svg, &block, end, (y, high));
        }
        svg.push_str("</g>\n");
    }

    fn blocks(&self, cpu: usize, end: Nanos) -> Vec<Block> {
        let slices = self.slices.iter().filter(|slice| slice.cpu == cpu);
        if self.slices.len() <= MOST_RECTANGLES {
            return slices.map(|slice| self.block(slice)).collect();
        }
        let steps = (MOST_RECTANGLES / self.lanes.len()).clamp(1, (WIDTH / PIXEL) as usize);
        coarse(slices, end, steps as u64, |kind| match kind {
            Kind::Queue(queue) => self.queues[queue as usize].clone(),
            _ => String::new(),
        })
    }

    fn block(&self, slice: &Slice) -> Block {
        let takes = shown_time(slice.to.since(slice.from));
        let at = shown_time(slice.from.0);
        let thread = &self.threads[slice.thread.0 as usize];
        Block {
            from: slice.from,
            to: slice.to,
            kind: kind_of(slice.what),
            name: format!("{} ({thread}), {takes} from {at} on", self.name(slice)),
        }
    }
}

/// A lane in so many steps, each with what took the most of it; equal neighbours are one.
fn coarse<'a>(
    slices: impl Iterator<Item = &'a Slice>,
    end: Nanos,
    steps: u64,
    name: impl Fn(Kind) -> String,
) -> Vec<Block> {
    let edge = |step: u64| Time((u128::from(end) * u128::from(step) / u128::from(steps)) as u64);
    let mut shares: BTreeMap<u64, BTreeMap<Kind, Nanos>> = BTreeMap::new();
    for slice in slices {
        let mut step = (u128::from(slice.from.0) * u128::from(steps) / u128::from(end)) as u64;
        while step < steps && edge(step) < slice.to {
            let from = slice.from.max(edge(step));
            let to = slice.to.min(edge(step + 1));
            let share = shares.entry(step).or_default().entry(kind_of(slice.what));
            *share.or_default() += to.0.saturating_sub(from.0);
            step += 1;
        }
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (step, share) in shares {
        let busy: Nanos = share.values().sum();
        let most = share
            .into_iter()
            .max_by_key(|&(kind, took)| (took, std::cmp::Reverse(kind)));
        let Some((kind, _)) = most.filter(|_| busy * 2 >= edge(step + 1).since(edge(step))) else {
            continue;
        };
        let (from, to) = (edge(step), edge(step + 1));
        match blocks.last_mut() {
            Some(last) if last.kind == kind && last.to == from => last.to = to,
            _ => blocks.push(Block {
                from,
                to,
                kind,
                name: name(kind),
            }),
        }
    }
    blocks
}

/// A round length of time, 1, 2 or 5 and zeroes, of which there are at most 12.
fn tick_step(end: Nanos) -> Nanos {
    let mut decade = 1;
    loop {
        let fits = |step: &Nanos| end / step <= 12;
        if let Some(step) = [decade, 2 * decade, 5 * decade].into_iter().find(fits) {
            return step;
        }
        decade *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ThreadId;

    #[test]
    fn ticks_are_round() {
        for (end, step) in [
            (10, 1),
            (25, 2),
            (1_000_000, 100_000),
            (35_000_000, 5_000_000),
        ] {
            let got = tick_step(end);
            assert!(end / got <= 12 && end / got >= 4, "{end}: {got}");
            assert_eq!(got, step, "{end}");
        }
    }

    #[test]
    fn coarse_steps_show_what_took_the_most() {
        let slice = |from, to, what| Slice {
            cpu: 0,
            from: Time(from),
            to: Time(to),
            thread: ThreadId(0),
            what,
        };
        let slices = [
            slice(0, 7, Doing::Program),
            slice(7, 30, Doing::Worker),
            slice(32, 33, Doing::Program),
        ];
        let blocks = coarse(slices.iter(), 40, 4, |_| String::new());
        let got: Vec<_> = blocks.iter().map(|b| (b.from.0, b.to.0, b.kind)).collect();
        // The last ten are idle for the most part.
        assert_eq!(got, [(0, 10, Kind::Program), (10, 30, Kind::Worker)]);
    }
}
