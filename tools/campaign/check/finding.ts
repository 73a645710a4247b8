// What a check found to be against a rule, with examples.

/** A rule that was broken: how often, and some of the cases. */
export type Finding = { rule: string; count: number; examples: string[] }

const maxExamples = 5

/** One finding for each rule, out of those of several checks. */
export function merged(findings: readonly Finding[]): Finding[] {
  return [...Map.groupBy(findings, ({ rule }) => rule)].map(([rule, all]) => ({
    rule,
    count: all.reduce((sum, { count }) => sum + count, 0),
    examples: all.flatMap(({ examples }) => examples).slice(0, maxExamples),
  }))
}

/** A finding for a rule, or none when there is no case. */
export function findingOf(rule: string, cases: readonly unknown[]): Finding[] {
  if (cases.length === 0) return []
  const examples = cases
    .slice(0, maxExamples)
    .map((one) => (typeof one === 'string' ? one : JSON.stringify(one)).slice(0, 600))
  return [{ rule, count: cases.length, examples }]
}

/** Runs a part of a campaign. What it throws is a finding, so that the others still run. */
export async function carriedOut(what: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run()
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    return findingOf('parts of the campaign that could not be carried out', [`${what}: ${words}`])
  }
}
