// What Stripe's codes mean to a payer. Pure. Codes: https://docs.stripe.com/declines/codes and https://docs.stripe.com/error-codes.
import type { RefusalReason } from '#core/payment/words.ts'

const codes: Partial<Record<RefusalReason, string>> = {
  insufficient_funds: 'insufficient_funds',
  limit_exceeded:
    'amount_too_large card_velocity_exceeded charge_exceeds_source_limit charge_exceeds_transaction_limit withdrawal_count_limit_exceeded',
  wrong_credentials:
    'incorrect_cvc incorrect_pin invalid_cvc invalid_pin offline_pin_required online_or_offline_pin_required',
  invalid_details:
    'expired_card expired_payment_method incorrect_address incorrect_number incorrect_postal_code incorrect_zip invalid_account invalid_expiry_month invalid_expiry_year invalid_number new_account_information_available',
  not_permitted:
    'amount_too_small card_not_supported currency_not_supported invalid_amount not_permitted service_not_allowed testmode_decline transaction_not_allowed',
  not_confirmed:
    'authentication_failure authentication_not_handled authentication_required mobile_device_authentication_required payment_intent_authentication_failure payment_intent_payment_attempt_expired',
  unavailable:
    'card_decline_rate_limit_exceeded issuer_not_available processing_error reenter_transaction try_again_later',
}
const reasons = new Map(
  Object.entries(codes).flatMap(([reason, text]) =>
    text.split(' ').map((code) => [code, reason as RefusalReason]),
  ),
)

/**
 * Why a card was refused, by its decline code or, without one, its error code. `declined` for all others, among them those about
 * fraud and about lost and stolen cards, which a payer must not learn.
 */
export function refusalOf(code: string): RefusalReason {
  return reasons.get(code) ?? 'declined'
}

/** Why an attempt ends whose request Stripe has refused: by the code, or `unavailable`, since the payer cannot correct ours. */
export function refusalOfRequest(code: string): RefusalReason {
  return reasons.get(code) ?? 'unavailable'
}
