// Two customers of the run's own, who can transfer money without an effect on other checks.
import { accepted, sessionOf } from '../../clients/cli/api/client.ts'
import { eventually } from '../../clients/cli/api/eventually.ts'
import { person, profile } from '../../clients/cli/api/order.ts'
import type { CheckContext } from './check.ts'

/** Two new customers, the first with 60.00 USD of person 00: no concurrent check moves their money. */
export function newCustomers(context: CheckContext): Promise<[string, string]> {
  return context.once('new customers', async () => {
    const { shop } = context
    const people = [profile(), profile()] as const
    for (const one of people) accepted(await shop.personal(one))
    const numbers = people.map(({ mobile_number }) => mobile_number) as [string, string]
    for (const number of numbers) {
      await eventually('a new account', async () => {
        const answer = await shop.lookUp({ lookup_type: 'MOBILE', lookup_value: number })
        return answer.status === 200 ? true : undefined
      })
    }
    const token = await sessionOf(shop, 0)
    const gift = shop.transferOrder(token, person(0), numbers[0], { amount: '60.00' })
    accepted(await shop.transfer(gift))
    return numbers
  })
}
