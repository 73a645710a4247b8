// Metrics that were renamed, which are exposed under their old names too for one version.

/** By new name, the old one. */
const oldNames: Readonly<Record<string, string>> = {
  payweave_delivery_in_flight: 'payweave_delivery_in_hand',
  payweave_delivery_dead_letters: 'payweave_delivery_dead',
  payweave_inbox_processed_total: 'payweave_inbox_taken_total',
  payweave_inbox_duplicates_total: 'payweave_inbox_repeated_total',
  payweave_inbox_dead_lettered_total: 'payweave_inbox_poisoned_total',
  payweave_inbox_dead_letters: 'payweave_inbox_poison',
  payweave_outbox_dead_lettered_total: 'payweave_outbox_parked_total',
  payweave_outbox_dead_letters: 'payweave_outbox_parked',
  payweave_ledger_pending_rollup_lines: 'payweave_ledger_unfolded_lines',
  payweave_quotes_rate_requests_total: 'payweave_quotes_rates_asked_total',
}

/** Adds the renamed metrics under their old names to a text in the Prometheus exposition format. */
export function withOldNames(exposition: string): string {
  const copies = exposition.split('\n').flatMap((line) => {
    const [, comment = '', name = '', rest = ''] = /^(# \w+ )?(\w+)(.*)$/.exec(line) ?? []
    const old = oldNames[name]
    if (old === undefined) return []
    return [
      comment === '# HELP ' ? `# HELP ${old} Deprecated name of ${name}.` : comment + old + rest,
    ]
  })
  return copies.length === 0 ? exposition : `${exposition.trimEnd()}\n${copies.join('\n')}\n`
}
