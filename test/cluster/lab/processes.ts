// Starts programs on hosts of the cluster, and ends everything that runs on one.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { openLog } from '../../../deploy/local/process/log-file.ts'
import { spawnTied, type TiedProcess } from '../../../deploy/local/process/tied-process.ts'
import { eventually } from '../../support/eventually.ts'
import type { Host, Network } from './network.ts'
import { type LabPrograms, postgresUser } from './programs.ts'

/** What to run, and where. */
export type Program = {
  host: Host
  command: string[]
  env?: Record<string, string>
  /** In the Debian system of the run: as root, or as the user of PostgreSQL. Without it the program is of this machine. */
  inside?: 'root' | 'postgres'
}

/** The machines of the cluster with what runs on them. */
export type Machines = {
  network: Network
  /** The folder of the run, and the same as programs `inside` see it. */
  folder: string
  insideFolder: string
  start(program: Program): Promise<TiedProcess>
  /** SIGKILL to everything on a host; resolves when nothing runs there any more. */
  killAll(host: Host): Promise<void>
}

const insideFolder = '/lab'

/** Prepares the Debian system: the folder of the run and the devices become visible in it. */
export function openMachines(network: Network, { root }: LabPrograms, folder: string): Machines {
  const mount = (...words: string[]) => execFileSync('mount', words)
  mount('--bind', folder, path.join(root, insideFolder))
  mount('--bind', '/proc', path.join(root, 'proc'))
  mount('--rbind', '/dev', path.join(root, 'dev'))
  const logs = path.join(folder, 'logs')
  fs.mkdirSync(logs, { recursive: true })

  const commandOf = ({ host, command, inside }: Program): string[] => {
    const user = inside === 'postgres' ? [`--userspec=${postgresUser.uid}:${postgresUser.gid}`] : []
    const changeRoot = inside === undefined ? [] : ['chroot', ...user, root]
    return [...network.on(host), ...changeRoot, ...command]
  }
  const pidsOn = ({ name }: Host): number[] =>
    execFileSync('chroot', [root, '/usr/sbin/ip', 'netns', 'pids', name], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line !== '')
      .map(Number)
  return {
    network,
    folder,
    insideFolder,
    async start(program) {
      const log = openLog(path.join(logs, `${program.host.name}.log`))
      try {
        return await spawnTied({
          command: commandOf(program),
          deathSignal: 'TERM',
          env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', ...program.env },
          stdio: ['ignore', log, log],
          cwd: '/',
        })
      } finally {
        fs.closeSync(log)
      }
    },
    async killAll(host) {
      await eventually(() => {
        const pids = pidsOn(host)
        for (const pid of pids) killIfThere(pid)
        return pids.length === 0
      })
    },
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
