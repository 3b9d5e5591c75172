//! What the words of `cmwq top` mean: for `--help`, the man page and the help of the screen.

pub(super) const GLOSSARY: &str = "\
Of a queue:
  MAX      max_active: items that may hold a slot
  ACT      items that hold a slot
  RUN      items that are being executed
  WAIT     items that have not begun; the line below says why
  STARTED  items begun since the queue was made
  DONE     items ended
  CPUHOG   executions that kept a CPU for 10 ms without sleeping (kernel CPU_INTENSIVE)
  CMWAKE   workers started because a CPU would idle or an item blocked (kernel CM_WAKEUP)
  MAYDAY   calls for the rescuer
  RESCUED  items that the rescuer began
  RATE     items begun per second between the last two looks
  WAIT50   half of the items waited less than this; WAIT99: 99 of 100. Times are counted by powers
           of two, so <537ms is 268 ms to 537 ms. explain has the average, which is exact.
  RUN50    half of the executions took less than this, sleep included; RUN99 likewise

Of a pool:
  TARGET   workers that it keeps runnable
  RUNNING  workers that count as runnable now
  BLOCKED  workers that neither idle nor count as runnable: what they execute sleeps
  QUEUED   items that a worker may take
  CANARY   workers started by the report of an idle CPU
  TICK     workers started by a look at the others
  BACK     workers that went idle as they had to wait for a CPU
  CONVOY   workers that went idle as others queued up at one lock
  REPAT    workers brought to where items waited

Of a function:
  RUN      items that are being executed; LONGEST, SHORTEST: for how long
  CPU%     CPU time of items that have ended in the last 5 to 10 seconds, in percent of a CPU. Items
           of less than 50 us are not measured.
  ENDED    how many those were
  MOST     CPU time of the one that had most

Of a child process, which is a job if the process is a `cmwq run`:
  AGE      for how long it has been there
  COMPUTED CPU time of it and its own children
  DOING    what it, or the last of its own children, waits for

On a terminal:
  1 to 5, Tab  queues, pools, CPUs, functions of items, child processes
  Up, Down     choose a row (also j, k, PageUp, PageDown, Home, End); what it waits for is below
  Enter        all about the chosen row; Esc leads back
  < and >      sort by the column before, or behind (also Left, Right); r reverses the order
  /            show only rows that match a regular expression; an empty one shows all
  p            pause, and go on (also Space)
  + and -      look half as often, or twice as often
  ?            this text (also h)
  q            quit (also Esc, Ctrl-C)

A lane of a CPU has the threads that execute an item and ran there last. With NO_COLOR in the
environment there are no colours. With TERM=dumb, or without a terminal, it is plain text.

Exit status:
  0  shown
  1  there is no such process, or it may not be looked at; the message says which
  2  bad usage";
