// The command that checks a sealed value on this machine and names what is wrong with it; sends nothing over the network.
import fs from 'node:fs'
import { readTarget, targetOptions } from '../api/target.ts'
import type { Command, CommandContext } from '../command.ts'
import { UsageError } from '../usage-error.ts'
import { findSealMistake, type SealPurpose, sealPurposes } from './mistake.ts'

/** `seal check`. */
export const sealCommands: Command[] = [
  {
    name: 'seal check',
    operands: '<sealed value | - | @file>',
    summary: 'Opens a sealed value on this machine, and names the mistake if it does not open.',
    options: {
      'data-dir': targetOptions['data-dir'],
      sandbox: targetOptions.sandbox,
      purpose: `${sealPurposes.join(' or ')} (${sealPurposes[0]})`,
      'key-id':
        'id of the institution\u2019s shared key, 8 hex digits; default: the keys in sandbox.json',
      'key-file': 'file with that key in base64 (or set PAYWEAVE_SHARED_KEY)',
    },
    run: check,
  },
]

async function check(context: CommandContext): Promise<number> {
  const { options, operands, json, print } = context
  const [operand, ...more] = operands
  if (operand === undefined || more.length > 0) throw new UsageError('pass one sealed value')
  const purpose = purposeOf(options['purpose'] ?? sealPurposes[0])
  const mistake = findSealMistake(readValue(operand), readKey(context), purpose)
  if (json) print(JSON.stringify({ ok: mistake === undefined, purpose, ...mistake }))
  else
    print(
      mistake === undefined ? `ok: opens as ${purpose}` : `${mistake.mistake}\n  ${mistake.remedy}`,
    )
  return mistake === undefined ? 0 : 1
}

function purposeOf(text: string): SealPurpose {
  const found = sealPurposes.find((purpose) => purpose === text)
  if (found === undefined) throw new UsageError(`--purpose must be ${sealPurposes.join(' or ')}`)
  return found
}

function readValue(operand: string): string {
  if (operand !== '-' && !operand.startsWith('@')) return operand
  return readFile(operand === '-' ? 0 : operand.slice(1)).replace(/\r?\n$/, '')
}

function readKey({ options, env }: CommandContext): { keyId: string; key: string } {
  const { 'key-id': keyId, 'key-file': file } = options
  const given = file === undefined ? env['PAYWEAVE_SHARED_KEY'] : readFile(file).trim()
  if (keyId !== undefined && given !== undefined) return { keyId, key: given }
  if (keyId !== undefined || file !== undefined) {
    throw new UsageError('--key-id needs --key-file or PAYWEAVE_SHARED_KEY')
  }
  const { institution } = readTarget(options, {
    ...(env['PAYWEAVE_DATA_DIR'] !== undefined && { PAYWEAVE_DATA_DIR: env['PAYWEAVE_DATA_DIR'] }),
  })
  if (institution === undefined) throw new UsageError('--key-id and --key-file are missing')
  return { keyId: institution.keyId, key: institution.sharedKey }
}

function readFile(file: string | 0): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}
