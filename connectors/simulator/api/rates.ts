// Maps payweave.backend.v1.RateService to the domain.
import { timestampNow } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import { rateBetween } from '../domain/rate.ts'

/**
 * The handler of payweave.backend.v1.RateService, which makes each rate when it is asked. It refuses a pair without a rate with
 * CURRENCY_NOT_SUPPORTED.
 */
export function rateService(): ServiceImpl<typeof RateService> {
  return {
    getRate: ({ baseCurrency, quotedCurrency }) => ({
      rate: rateBetween(baseCurrency, quotedCurrency),
      sourceTime: timestampNow(),
    }),
  }
}
