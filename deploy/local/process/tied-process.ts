// Starts a program that ends when this process does.
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import path from 'node:path'

/** How a process ended. */
export type Exit = { code: number | null; signal: NodeJS.Signals | null }

/** A started program. */
export type TiedProcess = {
  pid: number
  child: ChildProcess
  exited: Promise<Exit>
  alive(): boolean
  /** Sends the signal, then SIGKILL if the process is still there after graceMs. */
  end(signal: NodeJS.Signals, graceMs: number): Promise<Exit>
}

/** What to start. The command and its arguments go to the kernel as they are, so spaces are fine. */
export type TiedCommand = {
  command: string[]
  /** Programs that change the user and then execute the command in place, so that the pid stays. */
  runAs?: string[]
  /** Sent by the kernel (Linux) when we die, even by SIGKILL. */
  deathSignal: 'INT' | 'TERM'
  env: NodeJS.ProcessEnv
  stdio: StdioOptions
  cwd?: string
}

const systemFolders = ['/usr/bin', '/bin', '/usr/sbin']

/** Full path of a program on the PATH or in `others`, undefined when there is none. */
export function findProgram(name: string, others: string[] = systemFolders): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), ...others]
  for (const folder of folders.filter((entry) => path.isAbsolute(entry))) {
    const file = path.join(folder, name)
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {
      // Not in this folder; look in the next.
    }
  }
  return undefined
}

/**
 * Spawns a program in a session of its own, so that Ctrl-C reaches us alone and we stop the parts in
 * order. On Linux the kernel signals it when we die; elsewhere only a closed IPC channel shows it.
 */
export async function spawnTied(wanted: TiedCommand): Promise<TiedProcess> {
  const setpriv = process.platform === 'linux' ? findProgram('setpriv') : undefined
  const signalled = setpriv ? [setpriv, '--pdeathsig', wanted.deathSignal, '--'] : []
  const [program = '', ...args] = [...(wanted.runAs ?? []), ...signalled, ...wanted.command]
  const child = spawn(program, args, {
    cwd: wanted.cwd,
    env: wanted.env,
    stdio: wanted.stdio,
    detached: true,
  })
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    // Stays: a signal or message that came too late is an error too, and no reason to end.
    child.on('error', reject)
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${wanted.command[0]} did not start`)
  return {
    pid,
    child,
    exited,
    alive: () => isAlive(child),
    end: (signal, graceMs) => end(child, exited, signal, graceMs),
  }
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null
}

async function end(
  child: ChildProcess,
  exited: Promise<Exit>,
  signal: NodeJS.Signals,
  graceMs: number,
): Promise<Exit> {
  if (isAlive(child)) child.kill(signal)
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
  try {
    return await exited
  } finally {
    clearTimeout(timer)
  }
}
