// Reads the Dockerfile and lays out the files of its image as its lines say. It knows just what our file uses.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

/** One instruction, in the order of the file. */
export type Instruction = { name: string; args: string }

const root = path.join(import.meta.dirname, '..', '..')
const file = path.join(root, 'deploy', 'Dockerfile')

/** The instructions without comments, continued lines joined. */
export function readDockerfile(): Instruction[] {
  const lines = fs.readFileSync(file, 'utf8').replaceAll('\\\n', ' ').split('\n')
  return lines
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', args = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
      if (name === '') throw new Error(`not an instruction: ${line}`)
      return { name, args: args.trim() }
    })
}

/** How the image's process starts. */
export type Image = { entrypoint: string[]; command: string[]; user: string; workdir: string }

/** Lays the stages out below `folder`, the last one in `folder/image`, and answers how it starts. */
export function layOut(instructions: Instruction[], folder: string): Image {
  const stages = new Map<string, string>()
  let stage = ''
  const image: Image = { entrypoint: [], command: [], user: '', workdir: '/' }
  const steps: Record<string, (args: string) => void> = {
    ARG: () => {},
    ENV: () => {},
    EXPOSE: () => {},
    FROM(args) {
      const name = / AS (\w+)$/.exec(args)?.[1] ?? 'image'
      stage = path.join(folder, name)
      stages.set(name, stage)
      image.workdir = '/'
    },
    WORKDIR(args) {
      image.workdir = args
      fs.mkdirSync(path.join(stage, args), { recursive: true })
    },
    COPY(args) {
      const words = args.split(/\s+/)
      const target = path.join(stage, image.workdir, words.pop() ?? '')
      const from = /^--from=(\w+)$/.exec(words[0] ?? '')?.[1]
      if (from === undefined) {
        for (const source of words) copyFromContext(source, target, words.length > 1)
      } else {
        // Moved, not copied: each stage is asked for its files once.
        fs.renameSync(path.join(stages.get(from) ?? '', words[1] ?? ''), target)
      }
    },
    RUN(args) {
      const cwd = path.join(stage, image.workdir)
      if (args.startsWith('npm ci ')) installLocked(args, cwd)
      else execFileSync('/bin/sh', ['-ec', args], { cwd })
    },
    USER: (args) => (image.user = args),
    ENTRYPOINT: (args) => (image.entrypoint = JSON.parse(args) as string[]),
    CMD: (args) => (image.command = JSON.parse(args) as string[]),
  }
  for (const { name, args } of instructions) {
    const step = steps[name]
    if (step === undefined) throw new Error(`the test does not know ${name}`)
    step(args)
  }
  return image
}

/** Copies a file or a folder of the build context, without what the ignore file leaves out. */
function copyFromContext(source: string, target: string, isOneOfMany: boolean): void {
  const isFile = fs.statSync(path.join(root, source)).isFile()
  const intoFolder = isOneOfMany || target.endsWith(path.sep) || target.endsWith('.')
  const files = contextFiles().filter((name) => name === source || name.startsWith(`${source}/`))
  if (files.length === 0) throw new Error(`COPY ${source}: the context does not have it`)
  for (const name of files) {
    const relative = isFile ? path.basename(name) : path.relative(source, name)
    const to = isFile && !intoFolder ? target : path.join(target, relative)
    fs.mkdirSync(path.dirname(to), { recursive: true })
    fs.copyFileSync(path.join(root, name), to)
  }
}

let context: string[] | undefined

/** The files that git knows and that the ignore file lets through; the last line that matches decides. */
function contextFiles(): string[] {
  context ??= execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((name) => name !== '' && !isIgnored(name) && fs.existsSync(path.join(root, name)))
  return context
}

const ignoreLines = fs
  .readFileSync(`${file}.dockerignore`, 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ isException: line.startsWith('!'), pattern: line.replace(/^!/, '') }))
const matches = new Map<string, boolean[]>()

/** Returns for each line whether it is about a file or folder, by its own name or that of a parent folder. */
function linesAbout(name: string): boolean[] {
  const known = matches.get(name)
  if (known !== undefined) return known
  const above = path.dirname(name)
  const inherited = above === '.' ? [] : linesAbout(above)
  const found = ignoreLines.map(
    ({ pattern }, index) => inherited[index] === true || path.matchesGlob(name, pattern),
  )
  matches.set(name, found)
  return found
}

function isIgnored(name: string): boolean {
  const last = linesAbout(name).lastIndexOf(true)
  return last >= 0 && ignoreLines[last]?.isException === false
}

type Locked = { dev?: boolean; optional?: boolean; devOptional?: boolean }

/**
 * What `npm ci` with these options would install, from the packages that are installed already: the
 * lockfile says of each whether it is for development only or optional.
 */
function installLocked(command: string, cwd: string): void {
  const wanted = 'npm ci --omit=dev --omit=optional --ignore-scripts'
  if (command !== wanted) throw new Error(`the test knows what "${wanted}" does, not "${command}"`)
  const { packages } = JSON.parse(fs.readFileSync(path.join(cwd, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>
  }
  const names = Object.entries(packages)
    .filter(([name, { dev, optional, devOptional }]) => name && !dev && !optional && !devOptional)
    .map(([name]) => name)
  // Those inside others come with them, unless they are left out.
  const isNested = (name: string) => name.lastIndexOf('node_modules/') > 0
  const outer = Map.groupBy(
    names.filter((name) => !isNested(name)),
    (name) => path.dirname(name),
  )
  for (const [parent, members] of outer) {
    fs.mkdirSync(path.join(cwd, parent), { recursive: true })
    const sources = members.map((name) => path.join(root, name))
    copyOrLink(sources, path.join(cwd, parent))
  }
  for (const name of Object.keys(packages).filter(isNested)) {
    if (!names.includes(name)) fs.rmSync(path.join(cwd, name), { recursive: true, force: true })
  }
}

/** Links the files, which takes no time; copies them where the two places are on different disks. */
function copyOrLink(sources: string[], target: string): void {
  try {
    execFileSync('cp', ['-al', '-t', target, ...sources], { stdio: 'ignore' })
  } catch {
    execFileSync('cp', ['-a', '-t', target, ...sources])
  }
}
