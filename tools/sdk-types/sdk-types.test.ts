// Keeps the types and error codes of the SDKs equal to the documents of the API; `npm run schemas` writes them.
import { describe, expect, it } from 'vitest'
import { errorRemedies } from '#core/errors/remedies.ts'
import { contractVersions } from '#core/text/contract-version.ts'
import { routeRows } from '../../gateway/http/app.ts'
import { plainDocument } from '../../gateway/openapi/document.ts'
import { sourceFiles } from '../../gateway/openapi/sdk-types.ts'
import { asDocuments, typeFiles } from './model.ts'
import { pythonTypes } from './python.ts'
import { typescriptTypes } from './typescript.ts'

const documents = asDocuments(
  contractVersions.map((version) =>
    plainDocument(version, { rows: routeRows, publicBaseUrl: 'http://127.0.0.1:8080' }),
  ),
)
const files = typeFiles(documents, sourceFiles)
const types = files.flatMap((file) => file.types)
const clients = '../../clients'

describe('the types of the SDKs', () => {
  it('the types of the SDKs have one meaning for each name', () => {
    const names = types.map(({ name }) => name)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('the types of the SDKs cover every operation with a body, a query or a response', () => {
    const used = new Set(sourceFiles.flatMap(({ sources }) => sources.map(({ of }) => of)))
    const operations = documents.flatMap(({ paths }) =>
      Object.values(paths).flatMap((methods) => Object.values(methods)),
    )
    // They take an id and return what another operation returns.
    const simple = ['refundPayment', 'resendDelivery']
    const uncovered = operations.filter(({ operationId: id }) => !used.has(id))
    expect(uncovered.map(({ operationId }) => operationId)).toEqual(simple)
  })

  it.each(files)('the types of the SDKs are the committed ones: $file.ts', async (file) => {
    const text = typescriptTypes(file, files)
    await expect(text).toMatchFileSnapshot(`${clients}/sdk-typescript/types/${file.file}.ts`)
  })

  it('the types of the SDKs are the committed ones: types.py', async () => {
    await expect(pythonTypes(types)).toMatchFileSnapshot(`${clients}/sdk-python/payweave/types.py`)
  })
})

describe('the error codes of the SDKs', () => {
  const entries = Object.entries(errorRemedies)
  const made = '`npm run schemas`'

  it('the error codes of the SDKs are the committed ones: remedies.ts', async () => {
    const rows = entries.map(([code, remedy]) => `  ${code}:\n    ${JSON.stringify(remedy)},\n`)
    const head = `// What to do about each error code. Generated from core/errors/remedies.ts by ${made}.\n`
    const text = `${head}export const remedies = {\n${rows.join('')}} as const\n`
    await expect(text).toMatchFileSnapshot(`${clients}/sdk-typescript/remedies.ts`)
  })

  it('the error codes of the SDKs are the committed ones: remedies.py', async () => {
    const rows = entries.map(
      ([code, remedy]) => `    "${code}": (\n        ${JSON.stringify(remedy)}\n    ),\n`,
    )
    const head = `"""What to do about each error code. Generated from core/errors/remedies.ts by ${made}."""\n`
    const text = `${head}\nREMEDIES: dict[str, str] = {\n${rows.join('')}}\n`
    await expect(text).toMatchFileSnapshot(`${clients}/sdk-python/payweave/_remedies.py`)
  })
})
