// Finds the samples of the guides that call an operation, so that the reference shows them; the tests run them.
import { readFileSync } from 'node:fs'

/** The part of a guide that calls an operation. */
export type GuideSample = {
  guide: string
  heading: string
  /** In the order of the guide. */
  blocks: { language: string; code: string }[]
}

/** Those that explain operations, in the order in which they are looked through. */
const guides = [
  'accept-a-payment',
  'manage-payments',
  'accounts',
  'account-data',
  'transfers',
  'quotes',
  'bill-payments',
] as const
const languages = new Set(['ts', 'python', 'php'])

/** The first part of a guide that calls an operation; undefined when none does. PHP names method and path of each call. */
export function guideSample(method: string, path: string): GuideSample | undefined {
  return samples().find(({ blocks }) =>
    blocks.some(({ code }) => code.includes(`payweave('${method}', '${path}'`)),
  )
}

function samples(): GuideSample[] {
  return guides.flatMap((guide) => {
    const file = new URL(`../../docs/guides/${guide}.md`, import.meta.url)
    const [, ...parts] = readFileSync(file, 'utf8').split(/^## /m)
    return parts.map((part) => ({
      guide,
      heading: part.slice(0, part.indexOf('\n')),
      blocks: [...part.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
        .map(([, language = '', code = '']) => ({ language, code }))
        .filter(({ language }) => languages.has(language)),
    }))
  })
}
