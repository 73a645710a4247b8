// Tests that a brand is looked up once a minute, and that no page waits or fails because it cannot be.
import { create } from '@bufbuild/protobuf'
import { expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import {
  BrandingSchema,
  GetMerchantLogoResponseSchema,
  GetMerchantResponseSchema,
  MerchantSchema,
} from '#gen/payweave/accounts/v1/access_pb.js'
import { createLogger } from '#platform/telemetry/log.ts'
import { createBrands, noBrand } from './brands.ts'

const log = createLogger({ part: 'test', level: 'silent' })
const merchant = { projectId: 'p', merchantId: 'm' }
const branding = create(BrandingSchema, {
  color: '#0b57d0',
  logoDigest: 'ab'.repeat(32),
  supportEmail: 'help@shop.example',
})

/** Accounts as `answer` has it, and how often it was asked. */
function brandsWith(answer: () => Promise<typeof branding | undefined>) {
  const asked = { brands: 0, logos: 0 }
  const brands = createBrands(
    {
      async getMerchant() {
        asked.brands += 1
        const found = await answer()
        const one = create(MerchantSchema, found === undefined ? {} : { branding: found })
        return create(GetMerchantResponseSchema, { merchant: one })
      },
      getMerchantLogo() {
        asked.logos += 1
        return Promise.resolve(
          create(GetMerchantLogoResponseSchema, { logoPng: Buffer.from('png') }),
        )
      },
    },
    log,
  )
  return { brands, asked }
}

it('a brand is asked for once, until it changes', async () => {
  const { brands, asked } = brandsWith(async () => branding)
  const [one, other] = await Promise.all([brands.find(merchant), brands.find(merchant)])
  expect(one).toMatchObject({ logoVersion: 'abababababababab', supportEmail: 'help@shop.example' })
  expect(one.palettes?.light.accent).toBe('#0b57d0')
  expect([other, asked.brands]).toEqual([one, 1])
  expect(Buffer.from((await brands.logo(merchant)) ?? []).toString()).toBe('png')
  await brands.logo(merchant)
  expect(asked.logos).toBe(1)
  brands.drop('another')
  await brands.find(merchant)
  expect(asked).toEqual({ brands: 1, logos: 1 })
  brands.drop(merchant.projectId)
  await brands.find(merchant)
  await brands.logo(merchant)
  expect(asked).toEqual({ brands: 2, logos: 2 })
})

it('a merchant without branding, or of a release that names none, has the default look', async () => {
  const { brands, asked } = brandsWith(async () => undefined)
  expect(await brands.find(merchant)).toEqual(noBrand)
  expect(await brands.find({ projectId: '', merchantId: '' })).toEqual(noBrand)
  expect(await brands.logo({ projectId: '', merchantId: '' })).toBeUndefined()
  expect(asked).toEqual({ brands: 1, logos: 0 })
})

it('a page has the default look while accounts is unavailable or silent, and is asked for again', async () => {
  let answer: () => Promise<typeof branding> = () =>
    Promise.reject(new Failure('SERVICE_UNAVAILABLE', 'away'))
  const { brands } = brandsWith(() => answer())
  expect(await brands.find(merchant)).toEqual(noBrand)
  const silent = Promise.withResolvers<typeof branding>()
  answer = () => silent.promise
  expect(await brands.find(merchant)).toEqual(noBrand)
  silent.resolve(branding)
  answer = async () => branding
  expect((await brands.find(merchant)).supportEmail).toBe('help@shop.example')
})
