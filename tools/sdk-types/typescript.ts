// Writes types of the SDK for TypeScript.
import { type Named, type Type, type TypeFile, wrapped } from './model.ts'

const words: Record<string, string> = {
  text: 'string',
  amount: 'string',
  exact: 'string',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
  file: 'Blob',
  anything: 'unknown',
}

/** One file of types, out of all of them. */
export function typescriptTypes({ file, says, types }: TypeFile, all: readonly TypeFile[]): string {
  const head = `// Types of ${says}. Generated from the schemas of the API by \`npm run schemas\`.\n`
  const text = types.map(declaration).join('\n')
  const code = text.replaceAll(/\/\*\*.*?\*\//gs, '')
  const imports = all
    .filter((other) => other.file !== file)
    .flatMap((other) => {
      const used = other.types.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(code))
      const names = used.map(({ name }) => name).toSorted()
      return names.length === 0
        ? []
        : [`import type { ${names.join(', ')} } from './${other.file}.ts'\n`]
    })
  return `${head}${imports.join('')}\n${text}`
}

function declaration(type: Named): string {
  const start = `${comment(type.says, '')}export type ${type.name} =`
  if ('choice' in type) return `${start} ${written({ kind: 'choice', of: type.choice })}\n`
  const fields = type.fields.map(({ name, says, isOptional, type: of }) => {
    const mark = isOptional ? '?' : ''
    return `${comment(says, '  ')}  ${name}${mark}: ${written(of)}\n`
  })
  return `${start} {\n${fields.join('')}}\n`
}

function written(type: Type): string {
  switch (type.kind) {
    case 'literals':
      return type.values.map((value) => JSON.stringify(value).replaceAll('"', "'")).join(' | ')
    case 'list':
      return type.of.kind === 'named' || type.of.kind === 'text'
        ? `${written(type.of)}[]`
        : `(${written(type.of)})[]`
    case 'map':
      return `Record<string, ${written(type.of)}>`
    case 'choice':
      return type.of.map(written).join(' | ')
    case 'named':
      return type.name
    default:
      return words[type.kind] ?? 'unknown'
  }
}

function comment(text: string, indent: string): string {
  if (text === '') return ''
  const [first = '', ...more] = wrapped(text, 100)
  if (more.length === 0) return `${indent}/** ${first} */\n`
  const lines = [first, ...more].map((line) => `${indent} * ${line}\n`)
  return `${indent}/**\n${lines.join('')}${indent} */\n`
}
