// The command line for tests: in the test's own process, or as one of its own where that is the point. It must not know a command.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { Writable } from 'node:stream'
import { runCommandLine } from '../../clients/cli/main.ts'

const program = path.resolve(import.meta.dirname, '../../clients/cli/payweave.mjs')

/** How a command ended and what it printed. */
export type Ran = { code: number | null; out: string; err: string }

/** Runs a command on a data folder. Here, because a start of Node takes longer than all else of it. */
export async function runHere(dataDir: string, ...words: string[]): Promise<Ran> {
  const [stdout, stderr] = [sink(), sink()]
  const env = { ...process.env, PAYWEAVE_DATA_DIR: dataDir }
  const code = await runCommandLine(words, { env, stdout, stderr })
  return { code, out: stdout.text(), err: stderr.text() }
}

function sink(): Writable & { text(): string } {
  let text = ''
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  return Object.assign(stream, { text: () => text })
}

/** A command in a process of its own. */
export type CommandProcess = {
  child: ChildProcess
  out(): string
  err(): string
  ended: Promise<Ran>
}

/** Starts a command on a data folder as a person's shell does. */
export function startProcess(dataDir: string, ...words: string[]): CommandProcess {
  const child = spawn(process.execPath, [program, ...words], {
    env: { ...process.env, PAYWEAVE_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const texts = { out: '', err: '' }
  child.stdout.on('data', (text) => {
    texts.out += String(text)
  })
  child.stderr.on('data', (text) => {
    texts.err += String(text)
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, ...texts }))
  return { child, out: () => texts.out, err: () => texts.err, ended }
}

/** Runs a command as a person's shell does, to its end. */
export function runProcess(dataDir: string, ...words: string[]): Promise<Ran> {
  return startProcess(dataDir, ...words).ended
}
