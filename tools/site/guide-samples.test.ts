// Tests that the reference shows what the guides show of an operation, in each language.
import { expect, it } from 'vitest'
import { guideSample } from './guide-samples.ts'
import { operationPages } from './reference.ts'

it('the reference has samples in curl, TypeScript, Python and PHP for every operation', () => {
  const reference = operationPages()
    .map(({ markdown }) => markdown)
    .join('\n')
  const operations = [...reference.matchAll(/^`(GET|POST) (\/\S+)` · [^]*?(?=^## |$(?![^]))/gm)]
  expect(operations).toHaveLength(26)
  const languages = operations.map(([text, method = '', path = '']) => {
    const blocks = guideSample(method, path)?.blocks ?? []
    expect(blocks.filter(({ code }) => !text.includes(code))).toEqual([])
    const shown = [...text.matchAll(/^```(\w+)$/gm)].map(([, language = '']) => language)
    return [`${method} ${path}`, [...new Set(shown)].filter((one) => one !== 'json').join(' ')]
  })
  expect(languages).toEqual(languages.map(([operation]) => [operation, 'sh ts python php']))
})
