//! Sets of jobs with programs that people have on their machines.

use super::sets::{Kind, Scripts, Set};

/// 48 functions for a compiler, no two files alike.
const MAKE_C: &str = r#"
for n in $(seq 0 79); do
    {
        echo '#include <stdio.h>'; echo '#include <stdlib.h>'; echo '#include <string.h>'
        for f in $(seq 48); do
            echo "int f${f}_$n(char *s, int n) { int i, sum = $f; for (i = 0; i < n; i++) {"
            echo "if (s[i] == $n) sum += i * $f; else sum ^= s[i]; } printf(\"%d\", sum); return sum; }"
        done
    } >$n.c
done"#;

const MAKE_REPOSITORY: &str = r#"
git init -q origin && cd origin
git config user.email none && git config user.name none
for n in $(seq 40); do
    for f in 1 2 3 4 5 6 7 8; do seq $((n * f)) $((n * f + 4000)) >$f.txt; done
    git add . && git commit -qm "change $n"
done"#;

/// Each imports what tests import; one in four starts a program that it waits for.
const MAKE_TESTS: &str = r#"
cat >test_one.py <<'END'
import asyncio, json, subprocess, sys, time, unittest, unittest.mock
number = int(sys.argv.pop())
class One(unittest.TestCase):
    def test_computes(self):
        for _ in range(20 * (1 + number % 5)):
            self.assertEqual(len(json.loads(json.dumps(list(range(2000))))), 2000)
    def test_waits(self):
        if number % 4 == 0:
            subprocess.run(["sleep", "0.4"], check=True)
unittest.main()
END"#;

const TAKE_LOCK: &str = r#"
sqlite3 -cmd '.timeout 60000' clients.db "BEGIN IMMEDIATE;
    WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20000)
    INSERT INTO t SELECT n, hex(randomblob(20)) FROM c; COMMIT;""#;

/// Answers after a quarter of a second, like a server that is far away.
const SERVE: &str = r#"
cat >serve.py <<'END'
import http.server, os, socketserver, threading, time
class Far(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.25)
        self.send_response(200); self.end_headers(); self.wfile.write(b"x" * 10000)
    def log_message(self, *_): pass
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    request_queue_size, daemon_threads = 512, True
server = Server(("127.0.0.1", 0), Far)
open("port.new", "w").write(str(server.server_port)); os.rename("port.new", "port")
# Goes when its folder has gone.
def mind():
    while os.path.exists("serve.py"): time.sleep(1)
    os._exit(0)
threading.Thread(target=mind).start()
server.serve_forever()
END
python3 serve.py >/dev/null 2>&1 &
while [ ! -e port ]; do sleep 0.05; done"#;

/// In the order of the table.
pub(super) fn daily() -> Vec<Set> {
    let set = |name, about, scripts| Set {
        name,
        about,
        kind: Kind::Scripts(scripts),
        max_args: 1,
    };
    let number = |n: u32| n.to_string();
    let none = Scripts {
        needs: &[],
        make: "",
        before: "",
        jobs: 0,
        line: number,
        command: &[],
    };
    vec![
        set(
            "sleep",
            "60 times `sleep 3`",
            Scripts {
                jobs: 60,
                line: |_| "3".to_owned(),
                command: &["sleep"],
                ..none
            },
        ),
        set(
            "sqlite",
            "60 clients of one SQLite file: each holds its write lock while it inserts 20,000 rows",
            Scripts {
                needs: &["sqlite3"],
                before: "rm -f clients.db*; sqlite3 clients.db 'CREATE TABLE t (n, x)'",
                jobs: 60,
                command: &["sh", "-c", TAKE_LOCK],
                ..none
            },
        ),
        Set {
            name: "zstd",
            about: "`zstd -12` of 300 files of 64 to 512 KiB",
            kind: Kind::Files(300, |n| 64 << (n % 4), &["zstd", "-12", "-qkf"]),
            max_args: 1,
        },
        set(
            "cc",
            "`cc -O2` of 80 files",
            Scripts {
                needs: &["cc"],
                make: MAKE_C,
                jobs: 80,
                line: |n| format!("{n}.c"),
                command: &["cc", "-O2", "-c"],
                ..none
            },
        ),
        set(
            "clone",
            "`git clone` and `git gc` of a small repository, 40 times",
            Scripts {
                needs: &["git"],
                make: MAKE_REPOSITORY,
                before: "rm -rf copies; mkdir copies",
                jobs: 40,
                command: &[
                    "sh",
                    "-c",
                    "git clone -q --no-local origin copies/$0 && git -C copies/$0 gc -q",
                ],
                ..none
            },
        ),
        set(
            "python",
            "60 Python programs with unittest: 20 to 100 rounds of JSON, and one in four waits 0.4 s",
            Scripts {
                needs: &["python3"],
                make: MAKE_TESTS,
                jobs: 60,
                command: &["python3", "test_one.py", "-q"],
                ..none
            },
        ),
        set(
            "ffmpeg",
            "8 short videos with x264",
            Scripts {
                needs: &["ffmpeg"],
                jobs: 8,
                command: &[
                    "sh",
                    "-c",
                    "ffmpeg -v error -nostdin -f lavfi -i testsrc=s=320x240:d=4 -c:v libx264 -y $0.mp4",
                ],
                ..none
            },
        ),
        set(
            "curl",
            "300 downloads from a server that answers after 0.25 s",
            Scripts {
                needs: &["curl", "python3"],
                make: SERVE,
                jobs: 300,
                command: &["sh", "-c", "curl -fsS http://127.0.0.1:$(cat port)/$0"],
                ..none
            },
        ),
        Set {
            name: "tail",
            about: "150 jobs of 10 ms CPU time and 40 ms of waiting, then 4 of 100 ms and 1 s",
            kind: Kind::Burn(154, |n| if n < 150 { (10, 40) } else { (100, 1000) }),
            max_args: 1,
        },
        set(
            "make",
            "6 times `make -j4` of 10 files",
            Scripts {
                needs: &["cc", "make"],
                make: MAKE_C,
                before: "rm -rf out; mkdir out; printf 'all: $(patsubst %%,out/$(N)-%%.o,$(F))\\nout/$(N)-%%.o:\\n\\tcc -O2 -c $*.c -o $@\\n' >Makefile",
                jobs: 6,
                command: &[
                    "sh",
                    "-c",
                    "make -s -j4 N=$0 F=\"$(seq -s ' ' $((10 * $0)) $((10 * $0 + 9)))\"",
                ],
                ..none
            },
        ),
    ]
}
