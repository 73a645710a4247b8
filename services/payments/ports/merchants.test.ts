// Tests that merchants are fetched once a minute, and that wrong answers are not cached.
import { describe, expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { merchantFinder } from './merchants.ts'

function accounts(answer: (merchantId: string) => object) {
  const asked: string[] = []
  let nowMs = 0
  const getMerchant = async ({ merchantId = '' }: { merchantId?: string }) => {
    asked.push(merchantId)
    return { merchant: answer(merchantId) }
  }
  const find = merchantFinder({ getMerchant } as never, () => nowMs)
  return { asked, find, wait: (ms: number) => void (nowMs += ms) }
}

describe('a merchant', () => {
  it('a merchant is fetched once for concurrent calls, and again after a minute', async () => {
    const { asked, find, wait } = accounts((merchantId) => ({ merchantId, businessName: 'Shop' }))
    await Promise.all([find('p', 'm'), find('p', 'm')])
    wait(59_999)
    await find('p', 'm')
    expect(asked).toHaveLength(1)
    wait(1)
    await find('p', 'm')
    expect(asked).toHaveLength(2)
  })

  it('a merchant of another project is fetched separately', async () => {
    const { asked, find } = accounts((merchantId) => ({ merchantId }))
    await find('p', 'm')
    await find('q', 'm')
    expect(asked).toHaveLength(2)
  })

  it('a merchant that is unknown is an invalid key, and fetched again', async () => {
    const { asked, find } = accounts(() => {
      throw new Failure('MERCHANT_NOT_FOUND', 'no such merchant')
    })
    await expect(find('p', 'm')).rejects.toMatchObject({ reason: 'PW_INVALID_API_KEY' })
    await expect(find('p', 'm')).rejects.toMatchObject({ reason: 'PW_INVALID_API_KEY' })
    expect(asked).toHaveLength(2)
  })
})
