// Loaded before a process of ours in a campaign: its wall clock is off by the milliseconds that a file has. Timers go on as they are.
import fs from 'node:fs'

const readEveryMs = 100
const file = process.env.CLOCK_FILE ?? ''
let offsetMs = 0

function readOffset() {
  try {
    offsetMs = Number(fs.readFileSync(file, 'utf8'))
  } catch {
    offsetMs = 0
  }
}

const { now } = Date
Date.now = () => now() + offsetMs
globalThis.Date = new Proxy(Date, {
  construct: (target, given, made) =>
    Reflect.construct(target, given.length === 0 ? [Date.now()] : given, made),
})

readOffset()
setInterval(readOffset, readEveryMs).unref()
