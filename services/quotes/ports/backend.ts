// The source of rates over payweave.backend.v1.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import type { Client } from '@connectrpc/connect'
import type { RateService } from '#gen/payweave/backend/v1/rates_pb.js'
import type { RateSource } from './rates.ts'

/** Asks the back end. */
export function rateSource(rates: Pick<Client<typeof RateService>, 'getRate'>): RateSource {
  return async (baseCurrency, quotedCurrency, timeoutMs) => {
    const asked = { baseCurrency, quotedCurrency }
    const { rate, sourceTime } = await rates.getRate(asked, { timeoutMs })
    if (sourceTime === undefined) throw new Error('the rate has no time')
    return { text: rate, sourceTime: timestampDate(sourceTime) }
  }
}
