// Runs pgbench, as PostgreSQL's own measure of its throughput.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { findProgram } from '../../../deploy/local/process/tied-process.ts'
import { onDatabase } from '../store/on-database.ts'

/** As many as the pool of a service has. */
const clients = 16
const run = promisify(execFile)

/** Transactions per second of the scripts, one picked for each; undefined without pgbench on this machine. */
export async function pgbench(
  databaseUrl: string,
  service: string,
  seconds: number,
  scripts: string[],
): Promise<number | undefined> {
  const program = findProgram('pgbench')
  if (program === undefined) return undefined
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'payweave-pgbench-'))
  const files = scripts.map((script, index) => {
    const file = path.join(folder, `${index}.sql`)
    fs.writeFileSync(file, `${script};\n`)
    return `--file=${file}`
  })
  try {
    const options = `-c role=payweave_${service} -c search_path=${service}`
    return await runOn(program, databaseUrl, [`--time=${seconds}`, '--define=n=0', ...files], {
      PGOPTIONS: options,
    })
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** A script of this folder that writes the least that one life leaves behind. */
export type YardstickScript = 'bill' | 'ledger' | 'ledger-hot' | 'life'

/** How long a script runs: 30 s, or `BENCH_PGBENCH_S` for a short run, which the results then say. */
export const scriptSeconds = Number(process.env['BENCH_PGBENCH_S'] ?? 30)

/**
 * Transactions per second of a script on tables that are made anew, in a database of their own on the server. Throws an Error without
 * pgbench on this machine.
 */
export async function scriptPerSecond(serverUrl: string, script: YardstickScript): Promise<number> {
  const program = findProgram('pgbench')
  if (program === undefined) {
    throw new Error('pgbench is not on the PATH; on Debian: apt-get install postgresql-contrib')
  }
  const url = new URL(serverUrl)
  url.pathname = '/yardstick'
  await onDatabase(serverUrl, async (client) => {
    await client.query('drop database if exists yardstick with (force)')
    await client.query('create database yardstick')
  })
  await onDatabase(url.href, (client) => client.query(fs.readFileSync(fileOf('schema'), 'utf8')))
  return await runOn(program, url.href, [`--time=${scriptSeconds}`, `--file=${fileOf(script)}`])
}

function fileOf(name: string): string {
  return path.join(import.meta.dirname, `${name}.sql`)
}

async function runOn(
  program: string,
  databaseUrl: string,
  options: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  const { hostname, port, password, pathname } = new URL(databaseUrl)
  const { stdout } = await run(
    program,
    [
      '--no-vacuum',
      '--protocol=prepared',
      `--client=${clients}`,
      '--jobs=2',
      ...options,
      `--host=${hostname}`,
      `--port=${port}`,
      '--username=postgres',
      pathname.slice(1),
    ],
    { env: { ...process.env, PGPASSWORD: password, ...env } },
  )
  const found = /^tps = ([\d.]+)/m.exec(stdout)?.[1]
  if (found === undefined || !/failed transactions: 0 /.test(stdout)) throw new Error(stdout)
  return Number(found)
}
