// Runs processes in the files of an image: read-only, without capabilities, as the image's user.
import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Images, run } from './images.ts'

/** A container without a runtime of containers: a chroot with mounts of its own. */
export type Container = {
  /** Runs words in it to their end; what they print. */
  run(words: string[]): string
  /** Starts words in it with more environment, on the network of this machine or on one that `enter` leads to. */
  start(words: string[], env: Record<string, string>, enter?: string[]): ChildProcess
  /** The folder that one of its paths has outside. */
  outside(name: string): string
}

/** Makes a container of an image; each volume is an empty folder that its user owns. */
export function openContainer(images: Images, tag: string, volumes: string[] = []): Container {
  const { User, WorkingDir, Env } = images.configuration(tag)
  const [uid = '', gid = ''] = User.split(':')
  const files = images.files(tag)
  const outside = (name: string) => path.join(files, name)
  run('mount', '--bind', files, files)
  run('mount', '-o', 'remount,bind,ro', files)
  run('mount', '-t', 'tmpfs', 'tmpfs', outside('tmp'))
  run('mount', '-t', 'proc', 'proc', outside('proc'))
  run('mount', '--rbind', '/dev', outside('dev'))
  for (const volume of volumes) {
    run('mount', '-t', 'tmpfs', 'tmpfs', outside(volume))
    fs.chownSync(outside(volume), Number(uid), Number(gid))
  }
  const words = (given: string[]) => {
    const enter = `cd ${WorkingDir} && exec setpriv --reuid ${uid} --regid ${gid} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"`
    return [files, '/bin/sh', '-c', enter, 'sh', ...given]
  }
  const ownEnv = Object.fromEntries(Env.map((entry) => entry.split(/=(.*)/s).slice(0, 2)))
  const env = { PATH: '/usr/local/bin:/usr/bin:/usr/sbin', ...ownEnv }
  return {
    run: (given) => execFileSync('chroot', words(given), { encoding: 'utf8', env }),
    start(given, more, enter = []) {
      const [program = '', ...rest] = [...enter, 'chroot', ...words(given)]
      const stdio: StdioOptions = ['ignore', 'pipe', 'inherit']
      const child = spawn(program, rest, { env: { ...env, ...more }, stdio })
      // A run that fails leaves nothing behind.
      process.once('exit', () => child.kill('SIGKILL'))
      return child
    },
    outside,
  }
}
