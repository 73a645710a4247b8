// Why a payment was refused and what a payer can do about it, in every language; no markup.
import type { RefusalReason } from '../payment/words.ts'
import type { Language } from './language.ts'

/** `why` stands alone on the page of a payment that has failed; `advice` follows it while the payer may try again. */
export type RefusalText = { why: string; advice: string }

/** The texts by language and reason. They name no rule by which fraud is detected. */
export const refusals: Readonly<Record<Language, Readonly<Record<RefusalReason, RefusalText>>>> = {
  en: {
    declined: {
      why: 'The bank or wallet declined the payment without giving a reason.',
      advice: 'Ask the bank or wallet, or pay another way.',
    },
    insufficient_funds: {
      why: 'There is not enough money in the account.',
      advice: 'Add money, or pay another way.',
    },
    limit_exceeded: {
      why: 'The payment is above a limit of the account.',
      advice: 'Ask the bank or wallet to raise it, or pay another way.',
    },
    wrong_credentials: {
      why: 'The PIN or security code was wrong.',
      advice: 'Check it and try again.',
    },
    invalid_details: {
      why: 'The card or account was not recognised, or has expired.',
      advice: 'Check the details, or pay another way.',
    },
    not_permitted: {
      why: 'The card or account cannot be used for this payment.',
      advice: 'Pay another way.',
    },
    not_confirmed: {
      why: 'The payment was not confirmed.',
      advice: 'Try again, and confirm it when your bank or wallet asks you.',
    },
    unavailable: {
      why: 'The bank or wallet did not answer.',
      advice: 'Try again in a few minutes.',
    },
  },
  es: {
    declined: {
      why: 'El banco o el monedero rechazó el pago sin indicar el motivo.',
      advice: 'Consúltelo con ellos o pague de otra forma.',
    },
    insufficient_funds: {
      why: 'No hay suficiente dinero en la cuenta.',
      advice: 'Añada dinero o pague de otra forma.',
    },
    limit_exceeded: {
      why: 'El pago supera un límite de la cuenta.',
      advice: 'Pida al banco o al monedero que lo aumente, o pague de otra forma.',
    },
    wrong_credentials: {
      why: 'El PIN o el código de seguridad no era correcto.',
      advice: 'Compruébelo e inténtelo de nuevo.',
    },
    invalid_details: {
      why: 'No se reconoció la tarjeta o la cuenta, o está caducada.',
      advice: 'Compruebe los datos o pague de otra forma.',
    },
    not_permitted: {
      why: 'La tarjeta o la cuenta no se puede usar para este pago.',
      advice: 'Pague de otra forma.',
    },
    not_confirmed: {
      why: 'El pago no se confirmó.',
      advice: 'Inténtelo de nuevo y confírmelo cuando su banco o monedero se lo pida.',
    },
    unavailable: {
      why: 'El banco o el monedero no respondió.',
      advice: 'Inténtelo de nuevo en unos minutos.',
    },
  },
  fr: {
    declined: {
      why: 'La banque ou le portefeuille a refusé le paiement sans donner de raison.',
      advice: 'Renseignez-vous auprès d’eux, ou payez autrement.',
    },
    insufficient_funds: {
      why: 'Il n’y a pas assez d’argent sur le compte.',
      advice: 'Approvisionnez le compte, ou payez autrement.',
    },
    limit_exceeded: {
      why: 'Le paiement dépasse un plafond du compte.',
      advice: 'Demandez à la banque ou au portefeuille de l’augmenter, ou payez autrement.',
    },
    wrong_credentials: {
      why: 'Le code PIN ou le code de sécurité était incorrect.',
      advice: 'Vérifiez-le et réessayez.',
    },
    invalid_details: {
      why: 'La carte ou le compte n’a pas été reconnu, ou a expiré.',
      advice: 'Vérifiez les informations, ou payez autrement.',
    },
    not_permitted: {
      why: 'La carte ou le compte ne peut pas servir pour ce paiement.',
      advice: 'Payez autrement.',
    },
    not_confirmed: {
      why: 'Le paiement n’a pas été confirmé.',
      advice: 'Réessayez, et confirmez-le lorsque votre banque ou portefeuille vous le demande.',
    },
    unavailable: {
      why: 'La banque ou le portefeuille n’a pas répondu.',
      advice: 'Réessayez dans quelques minutes.',
    },
  },
  'pt-PT': {
    declined: {
      why: 'O banco ou a carteira recusou o pagamento sem indicar o motivo.',
      advice: 'Contacte-os ou pague de outra forma.',
    },
    insufficient_funds: {
      why: 'Não há dinheiro suficiente na conta.',
      advice: 'Adicione dinheiro ou pague de outra forma.',
    },
    limit_exceeded: {
      why: 'O pagamento ultrapassa um limite da conta.',
      advice: 'Peça ao banco ou à carteira que o aumente, ou pague de outra forma.',
    },
    wrong_credentials: {
      why: 'O PIN ou o código de segurança estava errado.',
      advice: 'Verifique-o e tente novamente.',
    },
    invalid_details: {
      why: 'O cartão ou a conta não foi reconhecido, ou expirou.',
      advice: 'Verifique os dados ou pague de outra forma.',
    },
    not_permitted: {
      why: 'O cartão ou a conta não pode ser utilizado para este pagamento.',
      advice: 'Pague de outra forma.',
    },
    not_confirmed: {
      why: 'O pagamento não foi confirmado.',
      advice: 'Tente novamente e confirme-o quando o banco ou a carteira lho pedir.',
    },
    unavailable: {
      why: 'O banco ou a carteira não respondeu.',
      advice: 'Tente novamente dentro de alguns minutos.',
    },
  },
  'pt-BR': {
    declined: {
      why: 'O banco ou a carteira recusou o pagamento sem informar o motivo.',
      advice: 'Fale com eles ou pague de outra forma.',
    },
    insufficient_funds: {
      why: 'Não há dinheiro suficiente na conta.',
      advice: 'Adicione dinheiro ou pague de outra forma.',
    },
    limit_exceeded: {
      why: 'O pagamento ultrapassa um limite da conta.',
      advice: 'Peça ao banco ou à carteira para aumentá-lo, ou pague de outra forma.',
    },
    wrong_credentials: {
      why: 'O PIN ou o código de segurança estava errado.',
      advice: 'Confira e tente de novo.',
    },
    invalid_details: {
      why: 'O cartão ou a conta não foi reconhecido, ou está vencido.',
      advice: 'Confira os dados ou pague de outra forma.',
    },
    not_permitted: {
      why: 'O cartão ou a conta não pode ser usado para este pagamento.',
      advice: 'Pague de outra forma.',
    },
    not_confirmed: {
      why: 'O pagamento não foi confirmado.',
      advice: 'Tente de novo e confirme quando o banco ou a carteira pedir.',
    },
    unavailable: {
      why: 'O banco ou a carteira não respondeu.',
      advice: 'Tente de novo em alguns minutos.',
    },
  },
  ar: {
    declined: {
      why: 'رفض البنك أو المحفظة عملية الدفع دون ذكر السبب.',
      advice: 'تواصل مع البنك أو المحفظة، أو ادفع بطريقة أخرى.',
    },
    insufficient_funds: {
      why: 'لا يوجد رصيد كافٍ في الحساب.',
      advice: 'أضف رصيدًا، أو ادفع بطريقة أخرى.',
    },
    limit_exceeded: {
      why: 'يتجاوز المبلغ أحد الحدود المسموح بها للحساب.',
      advice: 'اطلب من البنك أو المحفظة رفع الحد، أو ادفع بطريقة أخرى.',
    },
    wrong_credentials: {
      why: 'الرقم السري أو رمز الأمان غير صحيح.',
      advice: 'تحقق منه ثم حاول مرة أخرى.',
    },
    invalid_details: {
      why: 'لم يتم التعرف على البطاقة أو الحساب، أو انتهت الصلاحية.',
      advice: 'تحقق من البيانات، أو ادفع بطريقة أخرى.',
    },
    not_permitted: {
      why: 'لا يمكن استخدام هذه البطاقة أو هذا الحساب في عملية الدفع هذه.',
      advice: 'ادفع بطريقة أخرى.',
    },
    not_confirmed: {
      why: 'لم يتم تأكيد عملية الدفع.',
      advice: 'حاول مرة أخرى، وأكّدها عندما يطلب منك البنك أو المحفظة ذلك.',
    },
    unavailable: {
      why: 'لم يستجب البنك أو المحفظة.',
      advice: 'حاول مرة أخرى بعد بضع دقائق.',
    },
  },
}
