// Runs the samples of every guide against the running system, as a reader would save them: each language of a page is one program.
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, isGuide, pages, root } from '../../docs/pages.ts'
import { linkPackages } from '../../docs/session.ts'
import { php } from '../../support/php.ts'
import { python } from '../../support/python.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { passedOver } from '../../support/system-program.ts'
import { sharedMesh } from '../harness.ts'

const run = promisify(execFile)
const folder = temporaryFolder('guides')
const setUp = 'docs/guides/set-up.md'

const here = { path: process.execPath, missing: undefined }
const languages = {
  sh: {
    program: { path: 'bash', missing: undefined },
    // As set-up.md has it: without `pipefail`, a pipe has the status of its last command.
    words: ['-e'],
    client: 'payweave.sh',
  },
  ts: { program: here, words: [], client: 'client.mjs' },
  python: { program: python, words: [], client: 'client.py' },
  php: { program: php, words: [], client: 'payweave.php' },
}
type Language = keyof typeof languages
const endings: Record<Language, string> = { sh: 'sh', ts: 'mts', python: 'py', php: 'php' }

/** What the program of a guide prints in every language. */
const printed: Record<string, RegExp> = {
  'accept-a-payment': /^http\S+\/pay\/\S+\norder-\S+ is paid\n(.*Refunded.*\n)$/,
  'manage-payments':
    /^(.*Pending"?)\n(payment_created)\n(.*Cancelled"?)\n(notify.*)\n([0-9a-f-]{36})\n$/,
  webhooks: /pw-delivery-id[^]*\n[0-9a-f-]{36}\n$|^order-\S+ is paid: ship it\n204 204\n$/,
  accounts: /^available.*\npending_review\n(|completed\n|.*"onboarding_status.*completed.*\n)$/,
  'account-data': /^available\nUSD.*\n([^]*\n)?[0-9a-f-]{36}\n(Business account created\.|32)\n$/,
  transfers: /^6\.78\n(.*success.*\n)?completed\n$/,
  quotes: /^1\.47\nactive\n6\.7829\n([^]*\n)?$/,
  'bill-payments': /^SUCCESS\n.*SUCCESS"?\nPWBP-[0-9A-Z]{8}\n$/,
  errors: /^PAYMENT_NOT_FOUND: not ours\n((true|True) Check .*\n)?$/,
  idempotency: /^one payment\nDUPLICATE_TRANSACTION_ID\n$/,
  testing: /^.*Failed"?\n$/,
}

const programs = pages()
  .filter((page) => isGuide(page) && page !== setUp)
  .flatMap((page) => {
    const blocks = blocksOf(page)
    const own = (Object.keys(languages) as Language[])
      .map((language) => ({ language, code: codeOf(blocks, language) }))
      .filter(({ code }) => code !== '')
    return own.map((one) => ({ page: path.basename(page, '.md'), ...one }))
  })

function codeOf(blocks: ReturnType<typeof blocksOf>, language: Language): string {
  return blocks
    .filter((block) => block.language === language)
    .map(({ code }) => code)
    .join('\n')
}

beforeAll(() => {
  fs.symlinkSync(sharedMesh().dataDir, path.join(folder, '.payweave'))
  linkPackages(folder)
  for (const [language, { client }] of Object.entries(languages)) {
    fs.writeFileSync(path.join(folder, client), codeOf(blocksOf(setUp), language as Language))
  }
})
afterAll(() => fs.rmSync(folder, { recursive: true }))

it('every guide with samples has them in every language', () => {
  const missing = Object.keys(printed).flatMap((page) =>
    Object.keys(languages)
      .filter((language) => !programs.some((one) => one.page === page && one.language === language))
      .map((language) => `${page}: ${language}`),
  )
  expect(missing).toEqual([])
  expect(programs.filter(({ page }) => printed[page] === undefined)).toEqual([])
})

it('a block of a guide is in a language that is run, or is data', () => {
  const known = new Set([...Object.keys(languages), 'json', ''])
  const others = pages()
    .filter(isGuide)
    .flatMap((page) => blocksOf(page))
  expect(others.filter(({ language }) => !known.has(language))).toEqual([])
})

describe('the samples of a guide', { concurrent: true, timeout: 60_000 }, () => {
  for (const { page, language, code } of programs) {
    const { program, words } = languages[language]
    it.skipIf(program.missing !== undefined)(
      `the samples of ${page} in ${language} work${passedOver(program)}`,
      async ({ expect }) => {
        const file = `${page}.${endings[language]}`
        fs.writeFileSync(path.join(folder, file), code)
        const env = {
          ...process.env,
          PYTHONPATH: path.join(root, 'clients', 'sdk-python'),
          PYTHONDONTWRITEBYTECODE: '1',
        }
        const { stdout, stderr } = await run(program.path ?? '', [...words, file], {
          cwd: folder,
          env,
        })
        expect(stderr).toBe('')
        expect(stdout).toMatch(printed[page] ?? /^$/)
      },
    )
  }
})
