# Waits until a file that changes now gets a later time than every file from before: build systems compare times, and the clock
# of a file system has ticks. Scripts with a folder $work include this.
let_time_pass() {
  touch "$work/tick"
  until touch "$work/tock" && [ "$work/tock" -nt "$work/tick" ]; do sleep 0.01; done
}
