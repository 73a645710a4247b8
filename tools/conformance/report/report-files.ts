// Writes the report of a run as files, for people and for programs.
import fs from 'node:fs'
import path from 'node:path'
import type { CommandContext } from '../../../clients/cli/command.ts'
import { jsonReport, type Report } from './report.ts'
import { reportPage } from './report-page.ts'

/** Writes conformance.json and conformance.html to a folder, which is made if it is missing. Throws the system's error. */
export function writeReport(
  { warn }: Pick<CommandContext, 'warn'>,
  folder: string,
  report: Report,
): void {
  fs.mkdirSync(folder, { recursive: true })
  const page = path.join(folder, 'conformance.html')
  fs.writeFileSync(path.join(folder, 'conformance.json'), jsonReport(report))
  fs.writeFileSync(page, reportPage(report))
  warn(`report: ${page}`)
}
