// Checks every message of a call against the rules of its contract before the handler sees it, over every protocol.
import { create, type DescMethod, type Message } from '@bufbuild/protobuf'
import { type Path, pathToString } from '@bufbuild/protobuf/reflect'
import { createValidator, type Violation } from '@bufbuild/protovalidate'
import { Failure, type FieldViolation } from '#core/errors/errors.ts'
import { badTimeFinder } from './request-times.ts'
import { patternWords } from './rule-words.ts'

/** Throws a Failure that names the fields. */
type Check = (message: Message) => void

const maxViolations = 20
/** For a larger message only the first bad field is named: listing all could take seconds. */
const maxListed = 2_000

/**
 * Makes the check of a method's messages. The check throws MISSING_PARAMETER or INVALID_PARAMETER with up to 20
 * violations, and a RuntimeError of protovalidate for a rule that cannot be evaluated. The rules are compiled here, so
 * that one that does not compile throws at the start of the process.
 */
export function rulesCheck({ input }: DescMethod): Check {
  const compiled = validator.validate(input, create(input))
  if (compiled.kind === 'error') throw compiled.error
  const findBadTime = badTimeFinder(input)
  return (message) => {
    const found = (isSmall(message) ? validator : firstOnly).validate(input, message)
    if (found.kind === 'error') throw found.error
    if (found.kind === 'invalid') throw refusalOf(found.violations.map(wordsOf))
    const field = findBadTime?.(message)
    if (field !== undefined) throw refusalOf([{ ...invalidField, field, rule: timeRule }])
  }
}

const invalidField = { reason: 'INVALID_PARAMETER' } as const
const missingField = { reason: 'MISSING_PARAMETER' } as const
const timeRule = 'must be a time of the years 1 to 9999'

const regexes = new Map<string, RegExp>()

/**
 * Matches by RegExp, thirty times as fast as the library's RE2. Safe because the patterns are our own and take linear
 * time, which a test checks.
 */
function regexMatch(pattern: string, text: string): boolean {
  let regex = regexes.get(pattern)
  if (regex === undefined) {
    regex = new RegExp(pattern)
    regexes.set(pattern, regex)
  }
  return regex.test(text)
}

const validator = createValidator({ regexMatch })
/** For a large message: the first bad field is enough to refuse it, and it may hold a million. Compiles a rule at its first use. */
const firstOnly = createValidator({ failFast: true, regexMatch })

/** Whether a message has few enough fields and items to look for all violations. */
function isSmall(message: Message): boolean {
  let left = maxListed
  const isWithin = (value: unknown): boolean => {
    left -= 1
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return left >= 0
    for (const name in value) if (!isWithin((value as Record<string, unknown>)[name])) return false
    return left >= 0
  }
  return isWithin(message)
}

function refusalOf(violations: FieldViolation[]): Failure {
  const [first] = violations
  if (first === undefined) throw new Error('a message was refused without a reason')
  const { field, reason, rule } = first
  return new Failure(reason, `${field} ${rule}`, {
    details: { field },
    violations: violations.slice(0, maxViolations),
  })
}

/** Words a violation, without any value of the request. */
function wordsOf(violation: Violation): FieldViolation {
  const { ruleId, message, forKey } = violation
  const field = pathOf(violation.field, forKey)
  if (ruleId === 'required' || ruleId.endsWith('_empty')) {
    return { ...missingField, field, rule: 'is required' }
  }
  if (ruleId === 'enum.defined_only') {
    return { ...invalidField, field, rule: 'must be one of the defined values' }
  }
  const pattern = /^does not match regex pattern `(.*)`$/s.exec(message)?.[1]
  const rule = pattern === undefined ? message : patternWords(pattern)
  return { ...invalidField, field, rule: forKey ? `has a key that ${rule}` : rule }
}

/** The path of a field. A key of a map, which the client chose, is named only when it is an ordinary name. */
function pathOf(path: Path, forKey: boolean): string {
  const end = path.findIndex(
    (part) => part.kind === 'map_sub' && (forKey || !ordinaryKey.test(String(part.key))),
  )
  return pathToString(end === -1 ? path : path.slice(0, end))
}

const ordinaryKey = /^[\w.-]{1,64}$/
