//! All settings, in turns.

use cmwq::{Stacking, Workqueue, WorkqueueBuilder};

use super::row::{Row, table};
use super::{Item, Setting, StackArgs, clients, ping_pong};
use crate::bench::parent::{Failure, json_line, print};

pub(super) fn run(args: &StackArgs) -> Result<(), Failure> {
    let cells = cells(args);
    let mut runs = Vec::new();
    for _ in 0..args.runs {
        for &(setting, clients) in &cells {
            let row = measure(args, setting, clients)?;
            if args.json {
                print(&json_line(&row));
            }
            runs.push(row);
        }
    }
    if !args.json {
        print(&table(&medians(&cells, &runs)));
    }
    Ok(())
}

/// Settings and numbers of clients.
fn cells(args: &StackArgs) -> Vec<(Setting, u32)> {
    let cpus = cmwq_os::cpus::effective().mask.count() as u32;
    let mut numbers = match args.clients.is_empty() {
        true => vec![1, cpus, 2 * cpus],
        false => args.clients.clone(),
    };
    numbers.dedup();
    let with_clients = |&clients: &u32| {
        let settings = Setting::ALL.into_iter();
        let fits = move |setting: &Setting| clients == 1 || *setting != Setting::PingPong;
        settings.filter(fits).map(move |setting| (setting, clients))
    };
    numbers.iter().flat_map(with_clients).collect()
}

fn measure(args: &StackArgs, setting: Setting, clients: u32) -> Result<Row, Failure> {
    let item = Item {
        work: u64::from(args.work_us) * 1000,
        sleep: u64::from(args.sleep_us) * 1000,
    };
    let before = cmwq::stats().claimed;
    let trips = match setting {
        Setting::PingPong => ping_pong::run(args.ops, item)
            .ok_or_else(|| Failure::Run("ping-pong: no thread may choose its CPU".to_owned()))?,
        Setting::Unstacked => trips(percpu(Stacking::Off), clients, args.ops, item)?,
        Setting::Stacked => trips(percpu(Stacking::Stay), clients, args.ops, item)?,
        Setting::Unclaimed => trips(managed(Stacking::Stay), clients, args.ops, item)?,
        Setting::Claimed => trips(managed(Stacking::Claim), clients, args.ops, item)?,
    };
    Ok(Row {
        claimed_per_op: claimed_since(before) as f64 / (f64::from(clients) * f64::from(args.ops)),
        ..Row::new(setting, clients, trips)
    })
}

fn claimed_since(before: u64) -> u64 {
    cmwq::stats().claimed - before
}

fn percpu(stacking: Stacking) -> WorkqueueBuilder {
    managed(stacking).percpu()
}

fn managed(stacking: Stacking) -> WorkqueueBuilder {
    Workqueue::builder("stack").stacking(stacking)
}

fn trips(
    queue: WorkqueueBuilder,
    clients: u32,
    ops: u32,
    item: Item,
) -> Result<clients::Trips, Failure> {
    let queue = queue
        .build()
        .map_err(|error| Failure::Run(error.to_string()))?;
    Ok(clients::run(clients, ops, || {
        let done = queue.spawn(move || item.execute()).join();
        done.expect("the item does not panic");
    }))
}

fn medians(cells: &[(Setting, u32)], runs: &[Row]) -> Vec<Row> {
    let of_cell = |&(setting, clients): &(Setting, u32)| {
        let own = |row: &&Row| row.setting == setting.name() && row.clients == clients;
        let own: Vec<&Row> = runs.iter().filter(own).collect();
        Row::median(&own)
    };
    cells.iter().map(of_cell).collect()
}
