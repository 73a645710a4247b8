// Finds which process listens on a port, where the operating system shows it.
import fs from 'node:fs'
import path from 'node:path'

const listening = '0A'

/**
 * The name and pid of the process that listens on each of these ports, as `name (pid 1)`. A port is missing where the system
 * does not say: without /proc, or when the process belongs to another user.
 */
export function portHolders(ports: readonly number[]): Map<number, string> {
  const found = new Map<number, string>()
  const inodes = socketsOn(new Set(ports))
  if (inodes.size === 0) return found
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    for (const inode of openSockets(pid)) {
      const port = inodes.get(inode)
      if (port !== undefined && !found.has(port)) found.set(port, `${nameOf(pid)} (pid ${pid})`)
    }
  }
  return found
}

/** Ports by the number of the socket that listens on them. */
function socketsOn(ports: ReadonlySet<number>): Map<string, number> {
  const inodes = new Map<string, number>()
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readIf(table).split('\n').slice(1)) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
      const port = Number.parseInt(local.split(':')[1] ?? '', 16)
      if (state === listening && ports.has(port)) inodes.set(inode, port)
    }
  }
  return inodes
}

function openSockets(pid: string): string[] {
  try {
    return fs.readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const target = linkIf(`/proc/${pid}/fd/${fd}`)
      return /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []
    })
  } catch {
    // Another user's, or ended.
    return []
  }
}

/** The program's name. That of its main thread, which is easier to read, is another in Node.js. */
function nameOf(pid: string): string {
  const [program = ''] = readIf(`/proc/${pid}/cmdline`).split('\0')
  return path.basename(program) || 'a process'
}

function readIf(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function linkIf(file: string): string {
  try {
    return fs.readlinkSync(file)
  } catch {
    return ''
  }
}
