// Tests that renamed metrics keep their old names for one version.
import { expect, it } from 'vitest'
import { withOldNames } from './renamed-metrics.ts'

const others =
  '# HELP payweave_payments Payments.\n# TYPE payweave_payments gauge\npayweave_payments 1\n'

it('a renamed metric is exposed under both names', () => {
  const renamed =
    '# HELP payweave_delivery_dead_letters Given up.\n' +
    '# TYPE payweave_delivery_dead_letters gauge\n' +
    'payweave_delivery_dead_letters{state="blocked"} 2\n'
  expect(withOldNames(others + renamed)).toBe(
    `${others}${renamed}` +
      '# HELP payweave_delivery_dead Deprecated name of payweave_delivery_dead_letters.\n' +
      '# TYPE payweave_delivery_dead gauge\n' +
      'payweave_delivery_dead{state="blocked"} 2\n',
  )
})

it('other metrics are left as they are', () => {
  expect(withOldNames(others)).toBe(others)
})
