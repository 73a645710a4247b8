// Runs the verifiers that docs/integrate/webhooks-signed-examples.md shows, as they stand there, and those of the SDKs. It must not hold a verifier of its own.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { verifySignature } from '../../clients/sdk-typescript/pushes.ts'
import { openValue } from '../../clients/sdk-typescript/seal.ts'
import { php } from '../support/php.ts'
import { python } from '../support/python.ts'
import { temporaryFolder } from '../support/servers.ts'
import { root } from './pages.ts'

const page = fs.readFileSync(path.join(root, 'docs/integrate/webhooks-signed-examples.md'), 'utf8')

/** One question to a verifier. */
export interface Question {
  header: string
  body: Buffer
  secrets: string[]
  nowS: number
}

/** One sealed value and the keys of who opens it. */
export interface Sealed {
  sealed: string
  keys: Record<string, string>
}

/** What a language's example answers to each question. */
export interface Example {
  language: string
  /** Why it cannot run on this machine; undefined when it can. */
  missing: string | undefined
  verify(questions: Question[]): boolean[]
  /** Absent in the shell, which cannot open tokens. */
  open?(sealed: Sealed[]): (string | null)[]
}

/** The code blocks of a language, in the order of the page. */
function blocks(language: string): string[] {
  const found = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))]
  if (found.length === 0) throw new Error(`the page has no ${language}`)
  return found.map(([, code = '']) => code)
}

/** A program that is not there. One that is there and fails is no excuse: its example then fails too. */
function absence(command: string): string | undefined {
  const { error } = spawnSync(command, ['--version'], { stdio: 'ignore' })
  const isAbsent = error !== undefined && 'code' in error && error.code === 'ENOENT'
  return isAbsent ? `${command} is not on this machine` : undefined
}

type Runner = { command: string; file: string; code: string }

/** Writes a program, asks it all questions on standard input and reads its answers. */
function ask<T>({ command, file, code }: Runner, questions: object[]): T[] {
  const folder = temporaryFolder('docs')
  try {
    const script = path.join(folder, file)
    fs.writeFileSync(script, code)
    const run = spawnSync(command, [script], { input: JSON.stringify(questions), encoding: 'utf8' })
    if (run.status !== 0) throw new Error(`${command} ended with ${run.status}: ${run.stderr}`)
    return JSON.parse(run.stdout) as T[]
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
}

const wire = (questions: Question[]) =>
  questions.map(({ body, ...question }) => ({ ...question, body: body.toString('base64') }))

function nodeExample(): Example {
  const [code = ''] = blocks('js')
  const run = (call: string) => ({
    command: process.execPath,
    file: 'example.mjs',
    code: `${code}
import { readFileSync } from 'node:fs'
const questions = JSON.parse(readFileSync(0, 'utf8'))
process.stdout.write(JSON.stringify(questions.map((q) => ${call})))`,
  })
  return {
    language: 'Node.js',
    missing: undefined,
    verify: (questions) =>
      ask(
        run("verifySignature(q.header, Buffer.from(q.body, 'base64'), q.secrets, q.nowS)"),
        wire(questions),
      ),
    open: (sealed) => ask(run('openToken(q.sealed, q.keys) ?? null'), sealed),
  }
}

/** How Python runs a program of these lines that answers each question with a call. */
function pythonRunner(code: string, call: string): Runner {
  return {
    command: python.path ?? '',
    file: 'example.py',
    code: `${code}
import base64, json, sys
print(json.dumps([${call} for q in json.load(sys.stdin)]))`,
  }
}

function pythonExample(): Example {
  const [signature = '', token = ''] = blocks('python')
  const verify =
    "verify_signature(q['header'], base64.b64decode(q['body']), q['secrets'], q['nowS'])"
  return {
    language: 'Python',
    missing: python.missing,
    verify: (questions) => ask(pythonRunner(signature, verify), wire(questions)),
    open: (sealed) => ask(pythonRunner(token, "open_token(q['sealed'], q['keys'])"), sealed),
  }
}

function phpExample(): Example {
  const [code = ''] = blocks('php')
  const run = (call: string) => ({
    command: php.path ?? '',
    file: 'example.php',
    code: `${code}
$questions = json_decode(file_get_contents('php://stdin'), true);
echo json_encode(array_map(fn ($q) => ${call}, $questions));`,
  })
  const verify =
    "verifySignature($q['header'], base64_decode($q['body']), $q['secrets'], $q['nowS'])"
  return {
    language: 'PHP',
    missing: php.missing,
    verify: (questions) => ask(run(verify), wire(questions)),
    open: (sealed) => ask(run("openToken($q['sealed'], $q['keys'])"), sealed),
  }
}

/** The shell reads the clock by `date`: one that says what the test wants stands before it in the PATH. */
function shellExample(): Example {
  const [code = ''] = blocks('sh')
  return {
    language: 'shell',
    missing: absence('openssl'),
    verify: (questions) =>
      questions.map(({ header, body, secrets, nowS }) => {
        const folder = temporaryFolder('docs')
        try {
          fs.writeFileSync(path.join(folder, 'date'), `#!/bin/sh\necho ${nowS}\n`, { mode: 0o755 })
          const env = { PATH: `${folder}:${process.env['PATH']}`, SECRETS: secrets.join(' ') }
          const run = spawnSync('sh', ['-c', code, 'sh', header], { input: body, env })
          const refusal = run.stderr.toString()
          if (run.status === 1 && /^refused: (form|time|signature)\n$/.test(refusal)) return false
          if (run.status !== 0 || refusal !== '') throw new Error(`the shell says: ${refusal}`)
          return true
        } finally {
          fs.rmSync(folder, { recursive: true })
        }
      }),
  }
}

/** The functions of the TypeScript SDK. */
function typescriptSdk(): Example {
  return {
    language: 'TypeScript SDK',
    missing: undefined,
    verify: (questions) =>
      questions.map(({ header, body, secrets, nowS }) =>
        verifySignature(header, body, { signingSecrets: secrets, toleranceS: 300, nowS }),
      ),
    open: (sealed) => sealed.map(openBySdk),
  }
}

function openBySdk({ sealed, keys }: Sealed): string | null {
  const known = Object.entries(keys).map(([keyId, sharedKey]) => ({ keyId, sharedKey }))
  try {
    return openValue(sealed, known, 'authorisation-token')
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** The functions of the Python SDK. */
function pythonSdk(): Example {
  const code = `
import sys
sys.path.insert(0, ${JSON.stringify(path.join(root, 'clients', 'sdk-python'))})
sys.dont_write_bytecode = True
from payweave import SealingKey, open_value, verify_signature

def opened(sealed, keys):
    try:
        return open_value(sealed, [SealingKey(*key) for key in keys.items()], "authorisation-token")
    except ValueError:
        return None
`
  const verify =
    "verify_signature(q['header'], base64.b64decode(q['body']), q['secrets'], now=q['nowS'])"
  return {
    language: 'Python SDK',
    missing: python.missing,
    verify: (questions) => ask(pythonRunner(code, verify), wire(questions)),
    open: (sealed) => ask(pythonRunner(code, "opened(q['sealed'], q['keys'])"), sealed),
  }
}

export const examples: Example[] = [
  nodeExample(),
  pythonExample(),
  phpExample(),
  shellExample(),
  typescriptSdk(),
  pythonSdk(),
]

/** Runs the page's curl command against a receiver and returns the status that it prints. */
export async function sendTestCallback(env: Record<string, string>): Promise<string> {
  const [, code = ''] = blocks('sh')
  const child = spawn('sh', ['-c', code], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (text) => void (printed += String(text)))
  await new Promise((resolve) => child.once('close', resolve))
  return printed.trim()
}
